// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::WindowGrid: windows, search areas and fields. Arguments are checked here, then the backend of the arrays'
// memory does the work.

#include "arguments.hpp"

namespace cv { namespace cuda {

namespace fragment_matcher {

using detail::onDevice;
using detail::Output;

static void checkSides(const char* name, Size size, int least)
{
    if (std::min(size.width, size.height) < least || std::max(size.width, size.height) > MAX_SIDE)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: %d x %d, but it must be %d to %d", name, size.width, size.height, least, MAX_SIDE));
}

//! Returns the checked grid.
static GridOfWindows gridOf(const WindowGrid& grid)
{
    const Size frame = grid.frame, window = grid.window, step = grid.step;
    checkSides("frame", frame, 1);
    checkSides("window", window, 1);
    checkSides("step", step, 1);
    if (window.width > frame.width || window.height > frame.height)
        CV_Error_(Error::StsOutOfRange, ("window: %d x %d, which does not fit into the frame of %d x %d", window.width,
                                         window.height, frame.width, frame.height));
    const int cols = (frame.width - window.width) / step.width + 1,
              rows = (frame.height - window.height) / step.height + 1;
    if (static_cast<int64_t>(cols) * rows > MAX_FRAGMENTS)
        CV_Error_(Error::StsOutOfRange, ("step: %d x %d gives %d x %d windows, but there can be at most %d", step.width,
                                         step.height, cols, rows, MAX_FRAGMENTS));
    return {frame.width, frame.height, window.width, window.height, step.width, step.height, cols, rows};
}

//! Throws unless an array lies where the first target is. @param device memory of the results.
static void checkMemory(const char* name, bool isOnDevice, bool device)
{
    if (isOnDevice != device)
        CV_Error_(Error::StsBadArg, ("%s: is %s, but the other arrays are %s", name, isOnDevice ? "a GpuMat" : "a Mat",
                                     device ? "GpuMat" : "Mat"));
}

//! A matrix of a call.
struct Input : detail::Array
{
    //! @param inDevice memory that it must lie in. @param windows it must have a row for each. 0: any rows.
    Input(const char* name, InputArray array, int type, bool inDevice, int windows = 0)
        : Array(name, array, detail::columnArray)
    {
        checkMemory(name, onDevice, inDevice);
        if (array.type() != type)
            CV_Error_(Error::StsUnsupportedFormat, ("%s: type %s, but %s is needed", name,
                                                    typeToString(array.type()).c_str(), typeToString(type).c_str()));
        if (windows > 0 && (size().height != windows || size().width < 1))
            CV_Error_(Error::StsUnmatchedSizes, ("%s: %d x %d elements, but a row for each of %d windows is needed",
                                                 name, size().height, size().width, windows));
    }

    template <typename T> ConstRowsView<T> as() const { return {static_cast<const T*>(view().data), view().step}; }
};

} // namespace fragment_matcher

WindowGrid WindowGrid::create(Size frame, Size window, Size step)
{
    WindowGrid grid;
    grid.frame = frame;
    grid.window = window;
    grid.step = step;
    fragment_matcher::gridOf(grid);
    return grid;
}

Size WindowGrid::size() const
{
    const fragment_matcher::GridOfWindows grid = fragment_matcher::gridOf(*this);
    return Size(grid.cols, grid.rows);
}

void WindowGrid::regions(OutputArray regions) const
{
    using namespace fragment_matcher;
    const GridOfWindows grid = gridOf(*this);
    const int count = grid.cols * grid.rows;
    Output output("regions", regions, count, 1, CV_32SC4, detail::ON_HOST);
    const RowsView<Rect4> windows = output.allocate().as<Rect4>();
    for (int i = 0; windows && i < count; ++i)
        *windows.row(i) = windowOf(grid, i);
}

void WindowGrid::areas(Size reach, InputArray u, InputArray v, OutputArray areas, Stream& stream) const
{
    using namespace fragment_matcher;
    AreasOfWindows work = {gridOf(*this), reach.width, reach.height, {}, {}, 0, 0, {}};
    checkSides("reach", reach, 0);
    const bool device = areas.isGpuMat(), moves = !isNone(u);
    if (isNone(v) == moves)
        CV_Error_(Error::StsBadArg, ("v: %s, but u is%s", moves ? "is not given" : "is given", moves ? "" : " not"));
    std::vector<Input> motion;
    if (moves)
    {
        motion = {Input("u", u, CV_32FC1, device), Input("v", v, CV_32FC1, device)};
        const Size size = motion[0].size();
        if (size.empty() || size != motion[1].size())
            CV_Error_(Error::StsUnmatchedSizes,
                      ("u, v: %d x %d and %d x %d elements, but both need the same rows and columns", size.height,
                       size.width, motion[1].size().height, motion[1].size().width));
        work.u = motion[0].as<float>();
        work.v = motion[1].as<float>();
        work.fieldCols = size.width;
        work.fieldRows = size.height;
    }
    const StreamHandle handle = device ? detail::handleOf(stream) : nullptr;
    Output output("areas", areas, work.grid.cols * work.grid.rows, 1, CV_32SC4, {device, handle});
    work.areas = output.allocate().as<Rect4>();
    if (!work.areas)
        return;
    if (device)
        gpu::windowAreas(work, handle);
    else
        cpu::windowAreas(work);
}

void WindowGrid::field(InputArray areas, InputArray refined, InputArray scores, InputArray confidences,
                       InputArray status, OutputArray u, OutputArray v, OutputArray score, OutputArray confidence,
                       OutputArray valid, Stream& stream) const
{
    using namespace fragment_matcher;
    FieldOfWindows work = {gridOf(*this), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    const int count = work.grid.cols * work.grid.rows;
    const bool device = onDevice(refined);
    checkMemory("areas", onDevice(areas), device);
    const detail::Array givenAreas("areas", areas);
    work.areas = givenAreas.list("areas", 4, count).as<Rect4>();
    const Input inputs[] = {{"refined", refined, CV_32FC2, device, count},
                            {"scores", scores, CV_32FC1, device, count},
                            {"confidences", confidences, CV_32FC1, device, count},
                            {"status", status, CV_8UC1, device, count}};
    work.refined = inputs[0].as<Offset2>();
    work.scores = inputs[1].as<float>();
    work.confidences = inputs[2].as<float>();
    work.status = inputs[3].as<uint8_t>();

    const struct
    {
        const char* name;
        const _OutputArray& target;
    } targets[] = {{"u", u}, {"v", v}, {"score", score}, {"confidence", confidence}, {"valid", valid}};
    const StreamHandle handle = device ? detail::handleOf(stream) : nullptr;
    std::vector<Output> outputs;
    for (const auto& target : targets)
    {
        if (target.target.needed())
            checkMemory(target.name, target.target.isGpuMat(), device);
        const bool isValid = &target.target == &valid;
        outputs.emplace_back(target.name, target.target, work.grid.rows, work.grid.cols, isValid ? CV_8UC1 : CV_32FC1,
                             detail::ResultsPlace{device, handle});
    }
    work.u = outputs[0].allocate().as<float>();
    work.v = outputs[1].allocate().as<float>();
    work.score = outputs[2].allocate().as<float>();
    work.confidence = outputs[3].allocate().as<float>();
    work.valid = outputs[4].allocate().as<uint8_t>();
    if (device)
        gpu::windowField(work, handle);
    else
        cpu::windowField(work);
}

}} // namespace cv::cuda
