// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of detection with a boosted cascade, in the order of the literature:
//
//   makePyramid    scales of an image, and the source pixels of each pixel of a layer (on the host:
//                  src/cascade/pyramid.cpp)
//   toGray         gray values of a colour image
//   resize         layers of the pyramid (cpu: in integral_image.cpp)
//   integralImage  sums of pixels, of their squares, and of pixels rotated by 45 degrees (cuda: in integral_image.hpp)
//   classify       windows that pass all boosted stages (cuda: in classify.cu, pairs.cu, plain.cu)
//   group          candidates grouped into objects (on the host: src/cascade/group.cpp; cuda: in group.cu)
//
// This file also holds the data that goes from stage to stage. Tiles and layouts are in the folders of the backends.
#ifndef OPENCV_CUDATRACKING_CASCADE_STAGES_HPP
#define OPENCV_CUDATRACKING_CASCADE_STAGES_HPP

#include "../common/scratch_pool.hpp"
#include "../common/views.hpp"
#include "core.hpp"
#include "model.hpp"
#include "settings.hpp"
#include <vector>

namespace cv { namespace cuda { namespace cascade {

using detail::ImageView;
using detail::RowsView;

//! A cascade together with its detection parameters.
struct Task
{
    ModelPtr model;
    Settings settings;
};

// --- pyramid ---------------------------------------------------------------------------------------------------------

//! A scaled image. Keys call its index in the pyramid the scale.
struct Layer
{
    float factor;            //!< size of the image divided by that of the layer
    int cols, rows;          //!< pixels
    int step;                //!< distance of neighbouring windows, pixels of the layer: 1 or 2
    int columnTaps, rowTaps; //!< index in Pyramid::taps of the first of `cols` and of `rows` taps
};

//! The windows of a layer.
struct Grid
{
    int cols, rows;          //!< number of windows; window (i, j) is at (i * step, j * step) of the layer
    int boxWidth, boxHeight; //!< size of a window in the image, pixels
};

//! Layers and grids for all images of one size. Integers only, except for the factors: ready for the device.
struct Pyramid
{
    int cols, rows;            //!< size of the image
    std::vector<Layer> layers; //!< by ascending factor
    std::vector<Tap> taps;
    std::vector<Grid> grids; //!< one per layer
};

//! Makes the pyramid. @throws cv::Exception if there are more than MAX_SCALES layers.
Pyramid makePyramid(int cols, int rows, const Task& task);

// --- candidates and objects ------------------------------------------------------------------------------------------

//! A window that passed all stages.
struct Candidate
{
    Key key;
    double weight; //!< sum of the last stage
};

//! Groups of candidates.
struct Objects
{
    std::vector<Box> boxes;
    std::vector<int> counts;     //!< number of candidates in each group
    std::vector<double> weights; //!< largest weight of each group's candidates
    int candidates = 0;          //!< number of candidates, grouped or not
};

//! Numbers of windows of one grid, as countPasses() reports them.
struct Passes
{
    int64_t windows = 0;         //!< all windows of the grid
    int64_t evaluated = 0;       //!< windows that the skip rule did not skip
    int64_t contrast = 0;        //!< evaluated windows with contrast; LBP: all evaluated windows
    std::vector<int64_t> stages; //!< windows that passed each stage
};

/** Groups candidates of one image on the host. The CPU backend always does, the CUDA backend when a call finds more
candidates than its tables hold. @param candidates in the order of keys. @param objects out. */
void group(const std::vector<Candidate>& candidates, const Pyramid& pyramid, const Settings& settings,
           Objects& objects);

namespace cpu {

class Prepared;
struct IntegralImages;
struct LayerRegion;
struct Scratch;

//! Data that all jobs on one image share.
struct Work
{
    ImageView gray, mask; //!< mask: data null if there is none
    int image;            //!< index of the image, for keys
    const Pyramid* pyramid;
    const Prepared* prepared;
};

//! Converts an image with 3 or 4 channels.
void toGray(const ImageView& image, RowsView<uint8_t> gray);

//! Resizes a region of a layer and computes the integral images that are needed of it, into `scratch`.
void integralImage(const Work& work, const Layer& layer, const LayerRegion& region, const IntegralImages& needed,
                   Scratch& scratch);

/** Runs resize, integralImage and classify, tile by tile, for windows of rows [firstRow, firstRow + STRIP_ROWS) of a
layer. @param candidates they are appended in the order of keys. @param passes counts are added to it; null: not
wanted. */
void classify(const Work& work, int layer, int firstRow, detail::ScratchPool<Scratch>& scratch,
              std::vector<Candidate>& candidates, Passes* passes);

} // namespace cpu

namespace gpu {

// Arguments of the stages and their layouts in device memory: resize.hpp, classify.hpp, group.hpp of src/cuda/cascade/.
struct Resizing;
struct Classification;
struct ConstantStages;
struct Grouping;

//! Converts an image with 3 or 4 channels.
void toGray(const ImageView& image, RowsView<uint8_t> gray, detail::StreamHandle stream);

//! Resizes all images to all layers.
void resize(const Resizing& job, detail::StreamHandle stream);

/** Runs integralImage and classify for all tiles of all layers and images. Candidates come in any order;
their counts are exact even if the lists are too short. @param constant first stages for windows in pairs; null: windows
one by one. */
void classify(const Classification& job, const ConstantStages* constant, detail::StreamHandle stream);

//! Groups candidates into one row of result tables per image.
void group(const Grouping& job, detail::StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_STAGES_HPP
