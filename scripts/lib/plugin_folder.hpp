// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Where videoio of a build made by scripts/build.sh looks for FFmpeg's plugin. OpenCV looks in one folder, which it names relative
// to the folder of the program (or of cv2): its own folder, unless CV_VIDEOIO_PLUGIN_SUBDIRECTORY_STR names another. A program that
// is linked with static libraries lies anywhere, so that the plugin would not be found. Included by plugin_folder.cmake before
// backend_plugin.cpp; the environment variable OPENCV_VIDEOIO_PLUGIN_PATH still comes first.
#ifndef OPENCV_CUDATRACKING_PLUGIN_FOLDER_HPP
#define OPENCV_CUDATRACKING_PLUGIN_FOLDER_HPP

#include <fstream>
#include <initializer_list>
#include <string>

namespace cudatracking {

//! The first of: the program's folder, CUDATRACKING_PLUGIN_FOLDERS (absolute ones, as "a", "b"), that has the plugin.
//! @return it, relative to the program's folder, which may itself be relative.
inline std::string pluginFolder(const std::string& program)
{
    const std::string plugin = "/libopencv_videoio_ffmpeg.so";
    if (!std::ifstream(program + plugin))
        for (const char* folder : {CUDATRACKING_PLUGIN_FOLDERS})
            if (std::ifstream(folder + plugin))
            {
                std::string root = "..";
                for (int i = 0; i < 63; ++i) // the parent of the root folder is the root folder
                    root += "/..";
                return root + folder;
            }
    return ".";
}

} // namespace cudatracking

#define CV_VIDEOIO_PLUGIN_SUBDIRECTORY 1
#define CV_VIDEOIO_PLUGIN_SUBDIRECTORY_STR cudatracking::pluginFolder(binaryLocation)

#endif // OPENCV_CUDATRACKING_PLUGIN_FOLDER_HPP
