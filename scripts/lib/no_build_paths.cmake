# Read by OpenCV's project() in builds made by scripts/build.sh. Libraries, programs and the wheel go to other machines: nothing in
# them may name a folder of the machine that built them. Such a name tells whose machine that was, and whatever lies there on the
# other machine would be used.

# __FILE__ in messages. Of the options that fit a path the last one counts.
function(cudatracking_shorten_paths folder name)
  get_filename_component(folder "${folder}" ABSOLUTE)
  set(option "-fmacro-prefix-map=${folder}/=${name}")
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${option}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${option}>")
endfunction()
cudatracking_shorten_paths("${CUDATRACKING_ROOT}" opencv_cudatracking/)
cudatracking_shorten_paths("${CMAKE_BINARY_DIR}" build/)
cudatracking_shorten_paths("${CMAKE_SOURCE_DIR}/.." "") # opencv and opencv_contrib

# What OpenCV writes to files when it configures.
if(CMAKE_VERSION VERSION_LESS 3.19)
  message(STATUS "cudatracking: getBuildInformation() names folders of this machine (CMake below 3.19)")
  return()
endif()
set(OPENCV_SKIP_STATUS_FINALIZATION ON) # it would copy version_string.tmp

function(cudatracking_hide_paths)
  # The text of getBuildInformation(): of a path only its last part.
  file(READ "${CMAKE_BINARY_DIR}/version_string.tmp" text)
  string(REGEX REPLACE "([ =])/([^/ \"\n]+/)+" "\\1.../" text "${text}")
  file(CONFIGURE OUTPUT "${OPENCV_MODULE_opencv_core_BINARY_DIR}/version_string.inc" CONTENT "${text}" @ONLY)
  # Where cv::samples::findFile() of a program in the build folder looks. "" is no folder.
  file(READ "${OPENCV_CONFIG_FILE_INCLUDE_DIR}/opencv_data_config.hpp" text)
  string(REPLACE "\"${CMAKE_BINARY_DIR}\"" "\"\"" text "${text}")
  file(CONFIGURE OUTPUT "${OPENCV_CONFIG_FILE_INCLUDE_DIR}/opencv_data_config.hpp" CONTENT "${text}" @ONLY)
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL cudatracking_hide_paths)
