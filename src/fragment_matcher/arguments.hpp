// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// From cv::InputArray and cv::OutputArray to views, with all checks of arguments.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

const int MAX_SIDE = 32767, MAX_FRAGMENTS = 100000, MAX_ZNCC_PIXELS = 232 * 232;

//! A fragment as it was given, checked. On the host: own copies, three channels for four, q empty for full weight.
struct Fragment
{
    Size size;
    int type = -1; //!< as given
    bool onDevice = false;
    bool weighted = false;
    Mat templ, q;                 //!< on the host
    GpuMat device, deviceWeights; //!< on the device, until packed
    TemplateSums sums = {};       //!< on the host
};

void checkParams(const FragmentMatcher::Params& params);
Settings settingsOf(const FragmentMatcher::Params& params);

bool onDevice(InputArray array);
//! Frame or template: CV_8UC1, CV_8UC3 or CV_8UC4 of a legal size; `name` is for the message.
void checkPicture(const char* name, int type, Size size);
ImageView viewOf(const Mat& picture);
ImageView viewOf(const GpuMat& picture);

Fragment fragmentFrom(InputArray templ, InputArray weights);
//! All of an array of arrays (or of a single picture), at least one. weights may be noArray().
std::vector<Fragment> fragmentsFrom(InputArrayOfArrays templates, InputArrayOfArrays weights);
std::vector<Fragment> fragmentsFrom(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights);

//! Areas that the host can read.
std::vector<Rect4> areasFrom(InputArray searchAreas, int count);
//! N x 1, 1 x N or (single channel) N x 4 array in device memory.
ConstRowsView<Rect4> areasOnDevice(InputArray searchAreas, int count);

//! A single-channel array of int whose rows are one element of `channels` channels (as numpy writes lists of points and
//! rectangles) as the N x 1 array of these elements; any other array as it is. Copies nothing.
template <typename Array> Array tuplesOf(const Array& array, int channels)
{
    return array.type() == CV_32SC1 && array.cols == channels ? array.reshape(channels) : array;
}
//! Locations as CV_32SC2; `name` is for the message.
Mat locationsFrom(const char* name, const Mat& locations);
GpuMat locationsFrom(const char* name, const GpuMat& locations);
//! One row for each of `count` fragments.
void checkLocationRows(const char* name, int rows, int count);

//! For outputs of calls on the host.
void checkOnHost(OutputArray target);

//! One output of a call: the caller's array, or memory of ours that is copied to it at the end.
class Output
{
public:
    //! On the host.
    Output(OutputArray target, int rows, int cols, int type);
    //! On the device; `spare` takes the result of a target on the host.
    Output(OutputArray target, int rows, int cols, int type, GpuMat& spare);

    template <typename T> RowsView<T> view() const
    {
        return device_.empty() ? RowsView<T>{reinterpret_cast<T*>(host_.data), host_.step}
                               : RowsView<T>{reinterpret_cast<T*>(device_.data), device_.step};
    }
    //! Starts the copy to a target on the host; true when the caller has to wait for it.
    bool download(OutputArray target, Stream& stream) const;

private:
    Mat host_;
    GpuMat device_;
    bool copies_ = false;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
