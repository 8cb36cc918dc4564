#include "opencv2/cudatracking.hpp"
