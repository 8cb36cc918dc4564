// This file is region of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of detection with a boosted cascade, in the order of the literature:
//
//   makePyramid     scales of an image, and the source pixels of each pixel of a layer (on the host: src/cascade/pyramid.cpp)
//   toGray          gray values of a colour image
//   resize          layers of the pyramid (cpu: in integral_image.cpp)
//   integralImage  sums, sums of squares, and sums rotated by 45 degrees (cuda: in integral_image.hpp)
//   classify        windows that pass the boosted stages, evaluated on fewer and fewer windows (cuda: in classify.cu, pairs.cu)
//   group           candidates, grouped into objects (cpu: in ../../cascade/group.cpp)
//
// This file holds the data that goes from stage to stage; tiles and layouts are in the folders of the backends.
#ifndef OPENCV_CUDATRACKING_CASCADE_STAGES_HPP
#define OPENCV_CUDATRACKING_CASCADE_STAGES_HPP

#include "../common/scratch_pool.hpp"
#include "../common/views.hpp"
#include "core.hpp"
#include "model.hpp"
#include <vector>

namespace cv { namespace cuda { namespace cascade {

using detail::ImageView;
using detail::RowsView;

struct Settings
{
    double scaleFactor;
    int minNeighbors;                             //!< 0 or less: no groups
    int minWidth, minHeight, maxWidth, maxHeight; //!< of objects; a zero in the last two: the image's
    bool largest;                                 //!< only the object of largest area
    int maxObjects, maxCandidates;                //!< of an image, in tables
};

//! A cascade and what it is to do.
struct Task
{
    ModelPtr model;
    Settings settings;
};

// --- pyramid ---------------------------------------------------------------------------------------------------------

//! A scaled image. Its index in the pyramid is the scale of keys.
struct Layer
{
    float factor;
    int cols, rows;
    int step;                //!< from window to window
    int columnTaps, rowTaps; //!< index of the first of cols and of rows taps
};

//! The windows of one cascade on one layer.
struct Grid
{
    int layer;
    int cols, rows;          //!< number of windows; window (i, j) is at (i * step, j * step) of the layer
    int boxWidth, boxHeight; //!< of its boxes in the image
};

//! For all images of one size. Integers only, but for the factors: ready for the device.
struct Pyramid
{
    int cols, rows;
    std::vector<Layer> layers; //!< those that some task needs, ascending
    std::vector<Tap> taps;
    std::vector<std::vector<Grid>> grids; //!< for each task, ascending
};

//! @param tasks all of one scale factor. @throws cv::Exception when there are more than MAX_SCALES layers.
Pyramid makePyramid(int cols, int rows, const std::vector<Task>& tasks);

// --- candidates and objects ------------------------------------------------------------------------------------------

struct Candidate
{
    Key key;
    double weight; //!< sum of the last stage
};

struct Objects
{
    std::vector<Box> boxes;
    std::vector<int> counts;     //!< candidates in each
    std::vector<double> weights; //!< the largest of them
    int candidates = 0;
};

//! What countPasses() gives for one grid.
struct Passes
{
    int64_t windows = 0, evaluated = 0, contrast = 0; //!< on the grid; not skipped; of those, with contrast
    std::vector<int64_t> stages;                      //!< of those, passed each stage
};

/** Groups candidates of one task on the host. The CPU backend always does, the CUDA backend when a call finds more candidates than
its tables hold. @param candidates in the order of keys. @param objects out. */
void group(const std::vector<Candidate>& candidates, const Pyramid& pyramid, int task, const Settings& settings,
           Objects& objects);

namespace cpu {

//! A model for the vector loops: corners as offsets into the tables.
class Prepared;
struct Scratch;
struct LayerRegion;
struct TableLayout;

//! Width and height of the largest window of all tasks: tables of sums are made for it.
struct WindowExtent
{
    int width, height;
    bool squares, tilted; //!< some task needs these tables
};
WindowExtent extentOf(const std::vector<Task>& tasks);

std::shared_ptr<const Prepared> prepare(const ModelPtr& model, const WindowExtent& extent);

void toGray(const ImageView& image, RowsView<uint8_t> gray);

//! Rows of windows that one job works on.
const int STRIP_ROWS = 32;

//! What all jobs of one image share.
struct Work
{
    ImageView gray, mask; //!< mask: data null, none
    int image;            //!< its number, for keys
    const Pyramid* pyramid;
    const std::vector<Task>* tasks;
    const std::vector<std::shared_ptr<const Prepared>>* prepared;
    WindowExtent extent;
};

//! Resizes a region of a layer and computes its integral images.
void integralImage(const Work& work, const Layer& layer, const LayerRegion& region, const TableLayout& layout,
                   Scratch& scratch);

/** Runs resize, integralImage and classify, tile by tile, for windows of rows [firstRow, firstRow + STRIP_ROWS) of all tasks'
grids on a layer. @param candidates one list per task; candidates are appended in the order of keys.
@param passes null, or one per task: counts are added. */
void classify(const Work& work, int layer, int firstRow, detail::ScratchPool<Scratch>& scratch,
              std::vector<Candidate>* candidates, Passes* passes);

} // namespace cpu

namespace gpu {

//! Of images with 3 or 4 channels.
void toGray(const ImageView& image, RowsView<uint8_t> gray, detail::StreamHandle stream);

// What the following take and how it is laid out: src/cuda/cascade/classify.hpp.
struct Resizing;
struct Classification;
struct ConstantStages;
struct Grouping;

//! All layers of all images, for all cascades.
void resize(const Resizing& job, detail::StreamHandle stream);

/** integralImage and classify, for all tiles of all layers and images of one cascade. Candidates come in any order, and their numbers
are true also where lists are too short. @param constant null: not by pairs. */
void classify(const Classification& job, const ConstantStages* constant, detail::StreamHandle stream);

//! One row of tables an image.
void group(const Grouping& job, detail::StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_STAGES_HPP
