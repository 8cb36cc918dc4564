#include "opencv2/ts.hpp"
namespace opencv_test { using namespace cv; }
CV_TEST_MAIN("cv")
