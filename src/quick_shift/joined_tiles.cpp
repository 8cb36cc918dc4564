// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShiftTiles: tiles that are computed one by one. A part is those pixels of a tile whose parents lead to one
// pixel: to a root in the tile, or out of the tile. A part that leads out belongs to the same superpixel as the part of
// the pixel that it leads to.
// The two passes share the tables of parts and tiles.
#include "impl.hpp"
#include "arguments.hpp"
#include "opencv2/cudatracking/quick_shift_tiles.hpp"
#include <algorithm>
#include <climits>
#include <cmath>
#include <map>

namespace cv { namespace cuda {

using namespace quick_shift;

struct QuickShiftTiles::Trees : ComputedTrees
{
    Mat parts; //!< CV_32S: part of each pixel of the tile; empty if `parents` is not as large as its source
    std::vector<Point> ends; //!< of each part: the pixel of the tile where its parents end
};

namespace quick_shift { namespace {

//! Labels of the pixels within `reach` of a tile's border: those that other tiles' parts may lead to.
struct Frame
{
    Frame() = default;
    Frame(const Mat& labels, int reach)
        : size(labels.size()), rows(std::min(reach, size.height)), cols(std::min(reach, size.width))
    {
        const int between = std::max(size.height - 2 * rows, 0);
        top = labels.rowRange(0, rows).clone();
        left = labels(Rect(0, rows, cols, between)).clone();
        right = labels(Rect(size.width - cols, rows, cols, between)).clone();
        bottom = labels.rowRange(size.height - std::min(rows, size.height - rows), size.height).clone();
    }
    int at(Point p) const
    {
        return p.y < rows                         ? top.at<int>(p)
               : p.y >= size.height - bottom.rows ? bottom.at<int>(p.y - (size.height - bottom.rows), p.x)
               : p.x < cols                       ? left.at<int>(p.y - rows, p.x)
                                                  : right.at<int>(p.y - rows, p.x - (size.width - cols));
    }
    size_t bytes() const { return sizeof(int) * (top.total() + bottom.total() + left.total() + right.total()); }

    Size size;
    int rows = 0, cols = 0;       //!< height of top, width of left and right
    Mat top, left, right, bottom; //!< top and bottom over the whole width
};

//! A part that leads out of its tile, to a pixel of the image.
struct Exit
{
    int64_t part;
    Point pixel;
};

struct Tile
{
    int64_t first = -1;          //!< index of its first part; -1 until it is added
    int parts = 0;               //!< number of its parts
    int missing = 0;             //!< tiles within reach, itself included, that are not added
    Frame frame;                 //!< until no tile within reach is missing
    std::vector<Exit> expecting; //!< parts of other tiles that lead to this one, until it is added
};

//! Returns the number of tiles along a side.
int tilesOf(int side, int ofTile) { return static_cast<int>(detail::ceilDiv<int64_t>(side, ofTile)); }

const int64_t UNKNOWN = INT64_MIN; //!< next part of a part that leads to a tile that is missing

class QuickShiftTilesImpl final : public QuickShiftTiles, public detail::Lockable<QuickShiftTilesImpl>
{
public:
    QuickShiftTilesImpl(const UserSettings& settings, int window, int reach, Size image, Size tile)
        : expected_(settings),
          image_(image),
          tile_(tile),
          grid_(tilesOf(image.width, tile.width), tilesOf(image.height, tile.height)),
          window_(window),
          reach_(reach),
          tiles_(static_cast<size_t>(grid_.width) * grid_.height)
    {
        for (int y = 0; y < grid_.height; ++y)
            for (int x = 0; x < grid_.width; ++x)
                at({x, y}).missing = near({x, y}).area();
    }

    int getHalo() const override { return locked()->window_ + locked()->reach_; }
    Size getGrid() const override { return locked()->grid_; }
    Rect getTile(Point tile) const override { return locked()->checked(tile).widened(tile, 0); }
    Rect getSource(Point tile) const override { return locked()->checked(tile).widened(tile, getHalo()); }
    void addTrees(Point tile, const Trees& trees, OutputArray labels) override;
    int join() override;
    void relabel(Point tile, InputOutputArray labels) const override;
    size_t workspaceBytes() const override;

private:
    Tile& at(Point tile) { return tiles_[static_cast<size_t>(tile.y) * grid_.width + tile.x]; }
    const Tile& at(Point tile) const { return const_cast<QuickShiftTilesImpl*>(this)->at(tile); }
    const QuickShiftTilesImpl& checked(Point tile) const;
    //! Returns the pixels of a tile and `border` more on each side, clipped to the image.
    Rect widened(Point tile, int border) const;
    //! Returns the tiles, itself included, that have a pixel within reach of the tile.
    Rect near(Point tile) const;
    void checkTrees(Point tile, const Trees& trees);
    //! Returns true if compute() with the settings of create() has these for an image of this size.
    bool areExpected(const Settings& settings, Size size);
    Point tileOf(Point pixel) const { return {pixel.x / tile_.width, pixel.y / tile_.height}; }
    //! Returns the tile of a part.
    Point tileOf(int64_t part) const;
    //! Returns the part of a pixel in a tile that was added. @param from tile whose parents lead there.
    int64_t partOf(Point pixel, Point from) const;
    //! Returns the label of each part. @param roots pixels of all roots, ascending.
    std::vector<int> labelsOf(const std::vector<int64_t>& roots) const;
    //! Throws an error that names the tiles of a circle of parts. @param part one of these.
    [[noreturn]] void refuseCircle(int64_t part) const;

    QuickShiftImpl expected_; //!< has the settings of create(), and computes nothing
    const Size image_, tile_, grid_;
    const int window_, reach_; //!< radius of the density window and of the search
    std::vector<Tile> tiles_;
    std::vector<int64_t> next_; //!< of each part: the part that it leads to, ~pixel of its root, or UNKNOWN
    std::vector<int> labels_;   //!< of each part after join(): the superpixel's label
    int type_ = -1;             //!< of the image; -1 before the first tile
    int superpixels_ = -1;      //!< -1 before join()
};

String nameOf(Point tile) { return format("tile (%d, %d)", tile.x, tile.y); }

//! Throws an error about tiles whose parents cannot be those of one image.
[[noreturn]] void refuseSources(const std::vector<Point>& tiles)
{
    String names;
    for (const Point tile : tiles)
        names += (names.empty() ? "" : ", ") + nameOf(tile);
    CV_Error_(Error::StsBadArg, ("%s: their sources differ in pixels or mask where they overlap", names.c_str()));
}

const QuickShiftTilesImpl& QuickShiftTilesImpl::checked(Point tile) const
{
    if (!Rect(Point(), grid_).contains(tile))
        CV_Error_(Error::StsOutOfRange,
                  ("%s: there are only %d x %d", nameOf(tile).c_str(), grid_.width, grid_.height));
    return *this;
}

Rect QuickShiftTilesImpl::widened(Point tile, int border) const
{
    // 64 bits, as sides may be almost 2^31.
    const int64_t x = static_cast<int64_t>(tile.x) * tile_.width, y = static_cast<int64_t>(tile.y) * tile_.height;
    const int64_t left = std::max<int64_t>(x - border, 0), top = std::max<int64_t>(y - border, 0);
    const int64_t right = std::min<int64_t>(x + tile_.width + border, image_.width);
    const int64_t bottom = std::min<int64_t>(y + tile_.height + border, image_.height);
    return Rect(static_cast<int>(left), static_cast<int>(top), static_cast<int>(right - left),
                static_cast<int>(bottom - top));
}

Rect QuickShiftTilesImpl::near(Point tile) const
{
    const Rect pixels = widened(tile, reach_);
    return Rect(tileOf(pixels.tl()), tileOf(pixels.br() - Point(1, 1)) + Point(1, 1));
}

bool QuickShiftTilesImpl::areExpected(const Settings& settings, Size size)
{
    try
    {
        return settings == expected_.settingsFor(size, settings.type);
    }
    catch (const cv::Exception&) // the image has more channels than create() was given factors
    {
        return false;
    }
}

void QuickShiftTilesImpl::checkTrees(Point tile, const Trees& trees)
{
    checked(tile);
    const String name = nameOf(tile);
    const Size size = widened(tile, window_ + reach_).size();
    if (superpixels_ >= 0)
        CV_Error_(Error::StsBadArg, ("%s: all tiles are joined already", name.c_str()));
    if (at(tile).first >= 0)
        CV_Error_(Error::StsBadArg, ("%s: was added already", name.c_str()));
    if (trees.parents.empty())
        CV_Error_(Error::StsBadArg, ("%s: `computed` has no results", name.c_str()));
    if (trees.images != 1)
        CV_Error_(Error::StsBadArg, ("%s: `computed` has results of %d images", name.c_str(), trees.images));
    if (trees.parents.size() != size)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: %d x %d pixels were computed, but with its halo of %d pixels it has %d x %d", name.c_str(),
                   trees.parents.cols, trees.parents.rows, window_ + reach_, size.width, size.height));
    if (type_ >= 0 && trees.settings.type != type_)
        CV_Error_(Error::StsUnmatchedFormats, ("%s: type %s differs from %s of the tiles before", name.c_str(),
                                               typeToString(trees.settings.type).c_str(), typeToString(type_).c_str()));
    if (!areExpected(trees.settings, size))
        CV_Error_(Error::StsBadArg, ("%s: was computed with other settings than those of create()", name.c_str()));
}

Point QuickShiftTilesImpl::tileOf(int64_t part) const
{
    size_t i = 0;
    while (tiles_[i].first < 0 || part < tiles_[i].first || part >= tiles_[i].first + tiles_[i].parts)
        ++i;
    return {static_cast<int>(i % grid_.width), static_cast<int>(i / grid_.width)};
}

int64_t QuickShiftTilesImpl::partOf(Point pixel, Point from) const
{
    const Tile& tile = at(tileOf(pixel));
    const int label = tile.frame.at(Point(pixel.x % tile_.width, pixel.y % tile_.height));
    if (label < 0) // masked, so that it is no parent
        refuseSources({from, tileOf(pixel)});
    return tile.first + label;
}

/** Labels each pixel of a tile with its part: the rank of the pixel where the part's parents end in the tile.
@param parents of the tile with its halo. @param inside the tile in these pixels. @param ends out: these pixels. */
Mat labelParts(const Mat& parents, const Rect& inside, std::vector<Point>& ends)
{
    const int cols = inside.width, count = inside.area();
    std::vector<int> end(count); // a pixel's ancestor in the tile, itself where it has none
    Mat labels(inside.size(), CV_32S, Scalar(-1));
    int* const label = labels.ptr<int>();
    for (int i = 0; i < count; ++i)
    {
        const int parent = parents.at<int>(inside.y + i / cols, inside.x + i % cols);
        const Point at = Point(parent % parents.cols, parent / parents.cols) - inside.tl();
        end[i] = parent >= 0 && Rect(Point(), inside.size()).contains(at) ? at.y * cols + at.x : i;
        if (parent >= 0 && end[i] == i)
        {
            label[i] = static_cast<int>(ends.size());
            ends.emplace_back(i % cols, i / cols);
        }
    }
    for (int i = 0; i < count; ++i)
    {
        int last = i;
        while (end[last] != last)
            last = end[last] = end[end[last]]; // halves the path
        label[i] = label[last];
    }
    return labels;
}

void QuickShiftTilesImpl::addTrees(Point tile, const Trees& trees, OutputArray labels)
{
    const auto lock = locked();
    checkTrees(tile, trees);
    const Rect source = widened(tile, window_ + reach_), whole = widened(tile, 0), within = near(tile);
    const Mat& parts = trees.parts;
    detail::Output output("labels", labels, whole.height, whole.width, CV_32S, detail::ON_HOST);

    for (const Exit& exit : at(tile).expecting)
        if (parts.at<int>(exit.pixel - whole.tl()) < 0) // masked, so that it is no parent
            refuseSources({tile, tileOf(exit.part)});

    // From here on nothing fails but for lack of memory or masks that differ, and that before the tile counts as added.
    const int64_t first = static_cast<int64_t>(next_.size());
    std::map<int64_t, std::vector<Exit>> exits; // by the tile that they lead to
    std::vector<int64_t> next;
    for (const Point& end : trees.ends)
    {
        const int64_t part = first + static_cast<int64_t>(next.size());
        const int parent = trees.parents.at<int>(whole.tl() - source.tl() + end);
        const Point pixel = source.tl() + Point(parent % source.width, parent / source.width);
        const bool root = pixel == whole.tl() + end;
        const Point to = tileOf(pixel);
        next.push_back(root ? ~(static_cast<int64_t>(pixel.y) * image_.width + pixel.x) : UNKNOWN);
        if (!root && at(to).first >= 0)
            next.back() = partOf(pixel, tile);
        else if (!root)
            exits[static_cast<int64_t>(to.y) * grid_.width + to.x].push_back({part, pixel});
    }
    Frame frame(parts, reach_);
    if (next_.capacity() - next_.size() < next.size()) // reserve() alone would move the list with each tile
        next_.reserve(std::max(next_.size() + next.size(), 2 * next_.capacity()));
    const detail::OutputView out = output.allocate();
    for (int y = 0; out && y < parts.rows; ++y)
        std::copy_n(parts.ptr<int>(y), parts.cols, out.as<int>().row(y));
    for (const auto& [index, list] : exits)
        tiles_[index].expecting.reserve(tiles_[index].expecting.size() + list.size());

    for (const auto& [index, list] : exits)
        tiles_[index].expecting.insert(tiles_[index].expecting.end(), list.begin(), list.end());
    Tile& added = at(tile);
    next_.insert(next_.end(), next.begin(), next.end());
    added.first = first;
    added.parts = static_cast<int>(next.size());
    std::swap(added.frame, frame);
    for (const Exit& exit : added.expecting)
        next_[exit.part] = first + parts.at<int>(exit.pixel - whole.tl());
    added.expecting = std::vector<Exit>();
    type_ = trees.settings.type;
    for (int y = within.y; y < within.br().y; ++y)
        for (int x = within.x; x < within.br().x; ++x)
            if (--at({x, y}).missing == 0)
                at({x, y}).frame = {};
}

void QuickShiftTilesImpl::refuseCircle(int64_t part) const
{
    const size_t most = 8; // tiles in a message
    std::vector<Point> tiles;
    for (int64_t i = part; tiles.size() < most && (tiles.empty() || i != part); i = next_[i])
        tiles.push_back(tileOf(i));
    refuseSources(tiles);
}

std::vector<int> QuickShiftTilesImpl::labelsOf(const std::vector<int64_t>& roots) const
{
    const int UNLABELLED = -1, ON_THE_WAY = -2;
    std::vector<int> labels(next_.size(), UNLABELLED);
    for (int64_t i = 0; i < static_cast<int64_t>(next_.size()); ++i)
    {
        int64_t last = i; // where the parts that have no label yet end
        for (; labels[last] == UNLABELLED && next_[last] >= 0; last = next_[last])
            labels[last] = ON_THE_WAY;
        if (labels[last] == ON_THE_WAY)
            refuseCircle(last);
        if (labels[last] == UNLABELLED)
            labels[last] = static_cast<int>(std::lower_bound(roots.begin(), roots.end(), ~next_[last]) - roots.begin());
        for (int64_t part = i; labels[part] == ON_THE_WAY; part = next_[part])
            labels[part] = labels[last];
    }
    return labels;
}

int QuickShiftTilesImpl::join()
{
    const auto lock = locked();
    if (superpixels_ >= 0)
        return superpixels_;
    const auto isMissing = [](const Tile& tile) { return tile.first < 0; };
    const auto missing = std::find_if(tiles_.begin(), tiles_.end(), isMissing);
    if (missing != tiles_.end())
    {
        const int index = static_cast<int>(missing - tiles_.begin());
        CV_Error_(Error::StsBadArg, ("%s: was not added; %d of %zu are missing",
                                     nameOf({index % grid_.width, index / grid_.width}).c_str(),
                                     static_cast<int>(std::count_if(missing, tiles_.end(), isMissing)), tiles_.size()));
    }
    std::vector<int64_t> roots; // pixels
    for (const int64_t next : next_)
        if (next < 0)
            roots.push_back(~next);
    if (roots.size() > static_cast<size_t>(INT_MAX))
        CV_Error_(Error::StsOutOfRange,
                  ("QuickShiftTiles: %zu superpixels, but at most %d are possible", roots.size(), INT_MAX));
    std::sort(roots.begin(), roots.end());
    labels_ = labelsOf(roots);
    next_ = std::vector<int64_t>(); // {} would keep its memory
    return superpixels_ = static_cast<int>(roots.size());
}

void QuickShiftTilesImpl::relabel(Point tile, InputOutputArray labels) const
{
    const auto lock = locked();
    const String name = nameOf(tile);
    const Size size = getTile(tile).size();
    if (superpixels_ < 0)
        CV_Error_(Error::StsBadArg, ("%s: the tiles are not joined yet", name.c_str()));
    if (detail::onDevice(labels) || labels.type() != CV_32SC1 || labels.size() != size)
        CV_Error_(Error::StsBadArg,
                  ("labels: of %s must be CV_32SC1, %d x %d, on the host", name.c_str(), size.width, size.height));
    Mat values = labels.getMat();
    const Tile& from = at(tile);
    for (int y = 0; y < values.rows; ++y)
        for (int x = 0; x < values.cols; ++x)
            if (const int label = values.at<int>(y, x); label < -1 || label >= from.parts)
                CV_Error_(Error::StsOutOfRange, ("labels: %d at (%d, %d), but %s has labels -1 to %d", label, x, y,
                                                 name.c_str(), from.parts - 1));
    for (int y = 0; y < values.rows; ++y)
        for (int x = 0; x < values.cols; ++x)
            if (int& label = values.at<int>(y, x); label >= 0)
                label = labels_[from.first + label];
}

size_t QuickShiftTilesImpl::workspaceBytes() const
{
    const auto lock = locked();
    size_t bytes = sizeof(Tile) * tiles_.size() + sizeof(int64_t) * next_.capacity() + sizeof(int) * labels_.capacity();
    for (const Tile& tile : tiles_)
        bytes += tile.frame.bytes() + sizeof(Exit) * tile.expecting.capacity();
    return bytes;
}

//! Checks that QuickShift can compute the largest tile with its halo.
void checkSource(Size image, Size tile, int halo)
{
    const int64_t width = std::min<int64_t>(int64_t(tile.width) + 2 * halo, image.width);
    const int64_t height = std::min<int64_t>(int64_t(tile.height) + 2 * halo, image.height);
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS)
        CV_Error_(
            Error::StsOutOfRange,
            ("tileSize: %d x %d is %.0f x %.0f with its halo of %d pixels, but at most %d a side and %d pixels are "
             "possible",
             tile.width, tile.height, double(width), double(height), halo, MAX_SIDE, MAX_PIXELS));
}

}} // namespace quick_shift

Ptr<QuickShiftTiles> QuickShiftTiles::create(const Ptr<QuickShift>& quickShift, Size imageSize, Size tileSize)
{
    const auto* const impl = dynamic_cast<const QuickShiftImpl*>(quickShift.get());
    if (!impl)
        CV_Error(Error::StsBadArg, "quickShift: must be made by QuickShift::create()");
    if (imageSize.width < 1 || imageSize.height < 1)
        CV_Error_(Error::StsOutOfRange,
                  ("imageSize: %d x %d, but each side must be at least 1", imageSize.width, imageSize.height));
    if (tileSize.width < 1 || tileSize.height < 1)
        CV_Error_(Error::StsOutOfRange,
                  ("tileSize: %d x %d, but each side must be at least 1", tileSize.width, tileSize.height));
    const UserSettings settings = impl->settings();
    const int window = windowRadius(settings.sigma);
    const int reach = searchRadius(settings.searchRadius, settings.maxDist, window);
    checkSource(imageSize, tileSize, window + reach);
    const double count =
        std::ceil(double(imageSize.width) / tileSize.width) * std::ceil(double(imageSize.height) / tileSize.height);
    if (count > INT_MAX)
        CV_Error_(Error::StsOutOfRange, ("tileSize: %d x %d makes %.0f tiles, but at most %d are possible",
                                         tileSize.width, tileSize.height, count, INT_MAX));
    try
    {
        return makePtr<QuickShiftTilesImpl>(settings, window, reach, imageSize, tileSize);
    }
    catch (const std::bad_alloc&)
    {
        CV_Error_(Error::StsNoMem, ("tileSize: %d x %d makes %.0f tiles, and there is no memory for so many",
                                    tileSize.width, tileSize.height, count));
    }
}

void QuickShiftTiles::add(Point tile, const Ptr<QuickShift>& computed, OutputArray labels)
{
    const auto* const impl = dynamic_cast<const QuickShiftImpl*>(computed.get());
    if (!impl)
        CV_Error(Error::StsBadArg, "computed: must be made by QuickShift::create()");
    Trees trees = {impl->trees(), Mat(), {}};
    const Rect source = getSource(tile), whole = getTile(tile);
    // Takes most of the time, so that other threads should not wait for it.
    if (trees.parents.size() == source.size())
        trees.parts = labelParts(trees.parents, Rect(whole.tl() - source.tl(), whole.size()), trees.ends);
    addTrees(tile, trees, labels);
}

}} // namespace cv::cuda
