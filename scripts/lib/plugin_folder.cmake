# Read by OpenCV's project() in builds made by scripts/build.sh: programs that are linked with the static libraries, from the build
# tree or from where it is installed, find FFmpeg's plugin. See plugin_folder.hpp.
if(CMAKE_VERSION VERSION_LESS 3.19)
  message(STATUS "cudatracking: programs outside of the build folder need OPENCV_VIDEOIO_PLUGIN_PATH for FFmpeg (CMake below 3.19)")
  return()
endif()
set(cudatracking_plugin_folder_hpp "${CMAKE_CURRENT_LIST_DIR}/plugin_folder.hpp")

function(cudatracking_set_plugin_folder)
  if(NOT TARGET opencv_videoio_ffmpeg OR BUILD_SHARED_LIBS)
    return() # shared libraries find what lies beside them
  endif()
  set(folders "\"${LIBRARY_OUTPUT_PATH}\", \"${CMAKE_INSTALL_PREFIX}/${OPENCV_LIB_INSTALL_PATH}\"")
  set_source_files_properties("${OPENCV_MODULE_opencv_videoio_LOCATION}/src/backend_plugin.cpp"
    TARGET_DIRECTORY opencv_videoio PROPERTIES
    COMPILE_DEFINITIONS "CUDATRACKING_PLUGIN_FOLDERS=${folders}"
    COMPILE_OPTIONS "-include;${cudatracking_plugin_folder_hpp}")
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL cudatracking_set_plugin_folder)
