#ifndef OPENCV_CUDATRACKING_HPP
#define OPENCV_CUDATRACKING_HPP
#include "opencv2/core.hpp"
#endif
