// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of QuickShift, in the order in which both engines run them:
//
//   pack      features from pixels, mask and scales
//   density   pair weights summed up as integers; keys, what pixels are compared by
//   parents   nearest pixel of higher key: rings around the pixel, then cells of the picture whose best key is high enough
//   label     root of every pixel; roots counted in raster order
// and on demand
//   cut       links longer than tau become roots
//   heights   sorted link lengths
//   contours, sums (area, colour, position of each superpixel), mean colour, connect (4-connected pieces)
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP

#include "opencv2/core.hpp"
#include "opencv2/core/cuda.hpp"
#include "core.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

//! How colours become features, and what the kernels need: made by the public class from the user's parameters.
struct Plan
{
    Parameters parameters;
    float scales[MAX_CHANNELS]; //!< factor on each channel; all 1 when colorWeight holds the scale
    bool scaled;                //!< false: features are the pixel values as they are
    std::vector<float> spatial; //!< (R+1) x (2R+1): exp(-(dx^2+dy^2)/(2 sigma^2)) for dy = 0..R, dx = -R..R
};

//! One engine's results and its work. Pictures are stacked; all of one size and type.
class Engine
{
public:
    virtual ~Engine() = default;

    //! pack, density, parents, label. masks: none, or one for each picture.
    virtual void compute(const std::vector<_InputArray>& images, const std::vector<_InputArray>& masks,
                         const Plan& plan, Stream& stream) = 0;
    virtual int count() = 0;
    //! @param picture -1: the whole stack
    virtual void labels(OutputArray out, int picture, Stream& stream) = 0;
    virtual void density(OutputArray out, Stream& stream) = 0;
    virtual void parents(OutputArray out, Stream& stream) = 0;
    virtual void distances(OutputArray out, Stream& stream) = 0;

    virtual void segment(float tau, OutputArray labels, Stream& stream) = 0;
    virtual int countAt(float tau, Stream& stream) = 0;
    virtual void mergeHeights(OutputArray heights, OutputArray counts, Stream& stream) = 0;
    virtual void contours(OutputArray mask, bool thick, Stream& stream) = 0;
    virtual void meanColor(InputArray image, OutputArray dst, Stream& stream) = 0;
    virtual void statistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids,
                            OutputArray boxes, Stream& stream) = 0;
    virtual int connect(int minSize, Stream& stream) = 0;
    virtual size_t workspaceBytes() const = 0;

    //! compute() for one picture on the host; for tiles. Waits.
    virtual void computeFromHost(const Mat& image, const Mat& mask, const Plan& plan) = 0;
    //! What tiles are put together from, on the host. Waits.
    virtual void fetch(Mat& keys, Mat& parents, Mat& distances) = 0;
};

std::unique_ptr<Engine> makeCpuEngine();
#ifdef HAVE_CUDA
std::unique_ptr<Engine> makeCudaEngine();
#endif

/** compute() of tiles by `worker`, each with a border of the window's and the search's radius, so that sums and parents
inside are those of the whole. @return an engine on the host that holds the results of the whole. */
std::unique_ptr<Engine> computeTiled(const Mat& image, const Mat& mask, Size tile, const Plan& plan, Engine& worker);

// --- CPU stages: one picture ------------------------------------------------------------------------------------------

namespace cpu {

const int ROW_PADDING = 64; //!< columns right of the border that whole vectors may touch; the longest has 64 floats
const int MOST_RINGS = 12;  //!< rings of the parent search before cells take over

//! Planes of floats with a border of OUTSIDE to the left and right.
struct Features
{
    std::vector<float> data;
    int cols = 0, rows = 0, channels = 0, left = 0;
    size_t stride = 0; //!< floats from row to row

    const float* row(int channel, int y) const
    {
        return data.data() + (static_cast<size_t>(channel) * rows + y) * stride + left;
    }
    float* row(int channel, int y) { return const_cast<float*>(static_cast<const Features*>(this)->row(channel, y)); }
};

void pack(const Mat& image, const Mat& mask, const Plan& plan, Features& features);
//! keys: CV_32S holding unsigned numbers; 0 where masked.
void density(const Features& features, const Plan& plan, Mat& keys);
void parents(const Features& features, const Mat& keys, const Parameters& parameters, Mat& parents, Mat& distances);
//! @return number of roots
int label(const Mat& parents, Mat& labels);

void cut(const Mat& parents, const Mat& distances, float tau, Mat& cutParents);
void contours(const Mat& labels, bool thick, Mat& mask);

//! What a superpixel's pixels add up to. Integers, so that any order gives the same.
struct Sums
{
    int64_t area = 0, x = 0, y = 0;
    int64_t colour[MAX_CHANNELS] = {};
    int left = 0x7fffffff, top = 0x7fffffff, right = -1, bottom = -1;
};
//! See fixedScale(); 1 for integer pictures.
double colourScale(const Mat& image);
//! image may be empty: no colours.
std::vector<Sums> sums(const Mat& labels, int count, const Mat& image, double scale);
void meanColor(const Mat& labels, int count, const Mat& image, Mat& dst);
//! @return the new number of labels
int connect(Mat& labels, int minSize);

} // namespace cpu

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
