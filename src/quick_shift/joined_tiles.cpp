// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShiftTiles: tiles that are computed one by one. A part is those pixels of a tile whose parents lead to one
// pixel: to a root in the tile, or out of the tile. A part that leads out belongs to the same superpixel as the part of
// the pixel that it leads to.
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
    QuickShiftTilesImpl(int window, int reach, Size image, Size tile)
        : image_(image),
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
    void checkTrees(Point tile, const Trees& trees) const;
    //! Returns the part of a pixel in a tile that was added.
    int64_t partOf(Point pixel) const;
    //! Returns the pixel of the root that a part leads to. Halves the path there.
    int64_t rootOf(size_t part);

    const Size image_, tile_, grid_;
    const int window_, reach_; //!< radius of the density window and of the search
    std::vector<Tile> tiles_;
    std::vector<int64_t> next_; //!< of each part: the part that it leads to, ~pixel of its root, or UNKNOWN
    std::vector<int> labels_;   //!< of each part after join(): the superpixel's label
    Settings settings_;         //!< of the tiles so far; none: without `spatial`
    int superpixels_ = -1;      //!< -1 before join()
};

String nameOf(Point tile) { return format("tile (%d, %d)", tile.x, tile.y); }

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
    const Point first(pixels.x / tile_.width, pixels.y / tile_.height);
    return Rect(first, Point((pixels.br().x - 1) / tile_.width + 1, (pixels.br().y - 1) / tile_.height + 1));
}

void QuickShiftTilesImpl::checkTrees(Point tile, const Trees& trees) const
{
    checked(tile);
    const String name = nameOf(tile);
    const Size size = widened(tile, window_ + reach_).size();
    const int needed = trees.settings.parameters.radius + trees.settings.parameters.searchRadius;
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
    if (trees.settings.parameters.radius > window_ || trees.settings.parameters.searchRadius > reach_)
        CV_Error_(Error::StsOutOfRange, ("%s: its halo of %d pixels is too small: the settings of `computed` need %d",
                                         name.c_str(), window_ + reach_, needed));
    if (settings_.spatial && trees.settings.type != settings_.type)
        CV_Error_(Error::StsUnmatchedFormats,
                  ("%s: type %s differs from %s of the tiles before", name.c_str(),
                   typeToString(trees.settings.type).c_str(), typeToString(settings_.type).c_str()));
    if (settings_.spatial && !(trees.settings == settings_))
        CV_Error_(Error::StsBadArg, ("%s: was computed with other settings than the tiles before", name.c_str()));
}

int64_t QuickShiftTilesImpl::partOf(Point pixel) const
{
    const Tile& tile = at(Point(pixel.x / tile_.width, pixel.y / tile_.height));
    return tile.first + tile.frame.at(Point(pixel.x % tile_.width, pixel.y % tile_.height));
}

int64_t QuickShiftTilesImpl::rootOf(size_t part)
{
    for (; next_[part] >= 0; part = static_cast<size_t>(next_[part]))
        if (next_[next_[part]] >= 0)
            next_[part] = next_[next_[part]];
    return ~next_[part];
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

    // From here on nothing fails but for lack of memory, and that before the tile counts as added.
    const int64_t first = static_cast<int64_t>(next_.size());
    std::map<int64_t, std::vector<Exit>> exits; // by the tile that they lead to
    std::vector<int64_t> next;
    for (const Point& end : trees.ends)
    {
        const int64_t part = first + static_cast<int64_t>(next.size());
        const int parent = trees.parents.at<int>(whole.tl() - source.tl() + end);
        const Point pixel = source.tl() + Point(parent % source.width, parent / source.width);
        const bool root = pixel == whole.tl() + end;
        const Point to(pixel.x / tile_.width, pixel.y / tile_.height);
        next.push_back(root ? ~(static_cast<int64_t>(pixel.y) * image_.width + pixel.x) : UNKNOWN);
        if (!root && at(to).first >= 0)
            next.back() = partOf(pixel);
        else if (!root)
            exits[static_cast<int64_t>(to.y) * grid_.width + to.x].push_back({part, pixel});
    }
    Frame frame(parts, reach_);
    next_.reserve(next_.size() + next.size());
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
        next_[exit.part] = partOf(exit.pixel);
    added.expecting = std::vector<Exit>();
    settings_ = trees.settings;
    for (int y = within.y; y < within.br().y; ++y)
        for (int x = within.x; x < within.br().x; ++x)
            if (--at({x, y}).missing == 0)
                at({x, y}).frame = {};
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
    labels_.resize(next_.size());
    for (size_t i = 0; i < next_.size(); ++i)
        labels_[i] = static_cast<int>(std::lower_bound(roots.begin(), roots.end(), rootOf(i)) - roots.begin());
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

}} // namespace quick_shift

Ptr<QuickShiftTiles> QuickShiftTiles::create(const Ptr<QuickShift>& quickShift, Size imageSize, Size tileSize)
{
    if (!quickShift)
        CV_Error(Error::StsBadArg, "quickShift: is null");
    if (imageSize.width < 1 || imageSize.height < 1)
        CV_Error_(Error::StsOutOfRange,
                  ("imageSize: %d x %d, but each side must be at least 1", imageSize.width, imageSize.height));
    if (tileSize.width < 1 || tileSize.height < 1)
        CV_Error_(Error::StsOutOfRange,
                  ("tileSize: %d x %d, but each side must be at least 1", tileSize.width, tileSize.height));
    const int window = windowRadius(quickShift->getSigma());
    const int reach = searchRadius(quickShift->getSearchRadius(), quickShift->getMaxDist(), window);
    const double count =
        std::ceil(double(imageSize.width) / tileSize.width) * std::ceil(double(imageSize.height) / tileSize.height);
    if (count > INT_MAX)
        CV_Error_(Error::StsOutOfRange, ("tileSize: %d x %d makes %.0f tiles, but at most %d are possible",
                                         tileSize.width, tileSize.height, count, INT_MAX));
    return makePtr<QuickShiftTilesImpl>(window, reach, imageSize, tileSize);
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
