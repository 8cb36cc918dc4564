// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>
#include <functional>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

//! Root of a forest in which every link leads to its parent, with the path halved on the way.
int findRoot(std::vector<int>& parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

//! Calls visit(i, j) for every pixel i and its right and lower neighbour j.
template <typename Visit> void forNeighbours(int cols, int rows, const Visit& visit)
{
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            const int i = y * cols + x;
            if (x + 1 < cols)
                visit(i, i + 1);
            if (y + 1 < rows)
                visit(i, i + cols);
        }
}

//! Ranks pixels that are their own root in raster order. @return how many there are.
int rankRoots(std::vector<int>& root, const std::vector<uchar>& counts, Mat& labels)
{
    int n = 0;
    const int pixels = labels.rows * labels.cols;
    std::vector<int> rank(pixels, -1);
    for (int i = 0; i < pixels; ++i)
        if (counts[i] && root[i] == i)
            rank[i] = n++;
    int* label = labels.ptr<int>();
    for (int i = 0; i < pixels; ++i)
        label[i] = counts[i] ? rank[findRoot(root, i)] : -1;
    return n;
}

template <typename T> int64_t colourOf(T value, double) { return value; }
int64_t colourOf(float value, double scale) { return fixedColour(value, scale); }
template <typename T> void storeMean(int64_t sum, int64_t area, double, T& to)
{
    to = static_cast<T>(roundedMean(sum, area));
}
void storeMean(int64_t sum, int64_t area, double scale, float& to) { to = meanOf(sum, area, scale); }

template <typename T> void addColours(const Mat& labels, const Mat& image, double scale, std::vector<Sums>& out)
{
    const int channels = image.channels();
    for (int y = 0; y < image.rows; ++y)
    {
        const int* label = labels.ptr<int>(y);
        const T* pixel = image.ptr<T>(y);
        for (int x = 0; x < image.cols; ++x, pixel += channels)
            if (label[x] >= 0)
                for (int k = 0; k < channels; ++k)
                    out[label[x]].colour[k] += colourOf(pixel[k], scale);
    }
}

template <typename T> void paintMeans(const Mat& labels, const std::vector<Sums>& sums, double scale, Mat& dst)
{
    const int channels = dst.channels();
    std::vector<T> means(sums.size() * channels);
    for (size_t i = 0; i < sums.size(); ++i)
        for (int k = 0; k < channels; ++k)
            storeMean(sums[i].colour[k], sums[i].area, scale, means[i * channels + k]);
    for (int y = 0; y < dst.rows; ++y)
    {
        const int* label = labels.ptr<int>(y);
        T* to = dst.ptr<T>(y);
        for (int x = 0; x < dst.cols; ++x, to += channels)
            for (int k = 0; k < channels; ++k)
                to[k] = label[x] >= 0 ? means[static_cast<size_t>(label[x]) * channels + k] : T(0);
    }
}

} // namespace

int label(const Mat& parents, Mat& labels)
{
    const int pixels = parents.rows * parents.cols;
    const int* parent = parents.ptr<int>();
    const int strips = std::max(1, std::min(getNumThreads(), pixels / 4096));
    std::vector<int> top(pixels);
    const auto begin = [&](int strip) { return static_cast<int>(static_cast<int64_t>(pixels) * strip / strips); };
    // Within a strip of pixels: the last ancestor that the path reaches without leaving the strip. Reads and writes stay
    // inside, so strips do not race; each pixel's path is walked once.
    parallel_for_(Range(0, strips),
                  [&](const Range& range)
                  {
                      std::vector<int> path;
                      for (int strip = range.start; strip < range.end; ++strip)
                      {
                          const int first = begin(strip), last = begin(strip + 1);
                          std::fill(top.begin() + first, top.begin() + last, -1);
                          for (int i = first; i < last; ++i)
                          {
                              int j = i;
                              path.clear();
                              while (parent[j] >= 0 && top[j] < 0 && parent[j] != j && parent[j] >= first &&
                                     parent[j] < last)
                              {
                                  path.push_back(j);
                                  j = parent[j];
                              }
                              const int end = parent[j] < 0 ? j : (top[j] < 0 ? (top[j] = j) : top[j]);
                              for (int k : path)
                                  top[k] = end;
                          }
                      }
                  });
    labels.create(parents.size(), CV_32S);
    int* out = labels.ptr<int>();
    std::vector<int> rank(pixels, -1);
    int n = 0;
    for (int i = 0; i < pixels; ++i)
        if (parent[i] == i)
            rank[i] = n++;
    parallel_for_(Range(0, strips),
                  [&](const Range& range)
                  {
                      for (int i = begin(range.start); i < begin(range.end); ++i)
                      {
                          int j = i;
                          while (parent[j] >= 0 && parent[j] != j)
                          {
                              j = top[j];
                              if (parent[j] != j)
                                  j = parent[j];
                          }
                          out[i] = parent[j] < 0 ? -1 : rank[j];
                      }
                  });
    return n;
}

void cut(const Mat& parents, const Mat& distances, float tau, Mat& cutParents)
{
    parents.copyTo(cutParents);
    const int pixels = parents.rows * parents.cols;
    for (int i = 0; i < pixels; ++i)
        if (parents.ptr<int>()[i] >= 0 && distances.ptr<float>()[i] > tau)
            cutParents.ptr<int>()[i] = i;
}

void contours(const Mat& labels, bool thick, Mat& mask)
{
    const int cols = labels.cols, rows = labels.rows;
    parallel_for_(Range(0, rows),
                  [&](const Range& range)
                  {
                      for (int y = range.start; y < range.end; ++y)
                          for (int x = 0; x < cols; ++x)
                          {
                              const int own = labels.ptr<int>(y)[x];
                              int differing = 0;
                              for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
                                  for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
                                      if (x + dx >= 0 && x + dx < cols && y + dy >= 0 && y + dy < rows)
                                          differing += labels.ptr<int>(y + dy)[x + dx] != own;
                              mask.ptr<uchar>(y)[x] = differing > (thick ? 1 : 0) ? 255 : 0;
                          }
                  });
}

double colourScale(const Mat& image)
{
    if (image.depth() != CV_32F)
        return 1.;
    uint32_t largest = 0;
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols * image.channels(); ++x)
            if (isFinite(image.ptr<float>(y)[x]))
                largest = std::max(largest, floatBits(image.ptr<float>(y)[x]) & 0x7fffffffu);
    return fixedScale(largest);
}

std::vector<Sums> sums(const Mat& labels, int count, const Mat& image, double scale)
{
    std::vector<Sums> out(count);
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
        {
            const int label = labels.ptr<int>(y)[x];
            if (label < 0)
                continue;
            Sums& s = out[label];
            ++s.area;
            s.x += x;
            s.y += y;
            s.left = std::min(s.left, x);
            s.right = std::max(s.right, x);
            s.top = std::min(s.top, y);
            s.bottom = std::max(s.bottom, y);
        }
    if (image.empty())
        return out;
    switch (image.depth())
    {
    case CV_8U:
        addColours<uchar>(labels, image, scale, out);
        break;
    case CV_16U:
        addColours<ushort>(labels, image, scale, out);
        break;
    default:
        addColours<float>(labels, image, scale, out);
        break;
    }
    return out;
}

void meanColor(const Mat& labels, int count, const Mat& image, Mat& dst)
{
    const double scale = colourScale(image);
    const std::vector<Sums> all = sums(labels, count, image, scale);
    switch (image.depth())
    {
    case CV_8U:
        paintMeans<uchar>(labels, all, scale, dst);
        break;
    case CV_16U:
        paintMeans<ushort>(labels, all, scale, dst);
        break;
    default:
        paintMeans<float>(labels, all, scale, dst);
        break;
    }
}

int connect(Mat& labels, int minSize)
{
    const int cols = labels.cols, rows = labels.rows, pixels = cols * rows;
    const int* label = labels.ptr<int>();
    std::vector<int> root(pixels);
    std::vector<uchar> counts(pixels);
    for (int i = 0; i < pixels; ++i)
    {
        root[i] = i;
        counts[i] = label[i] >= 0;
    }
    // The lower index stays the root, so a piece's root is its first pixel.
    const auto unite = [&](int i, int j)
    {
        i = findRoot(root, i);
        j = findRoot(root, j);
        root[std::max(i, j)] = std::min(i, j);
    };
    forNeighbours(cols, rows,
                  [&](int i, int j)
                  {
                      if (counts[i] && label[i] == label[j])
                          unite(i, j);
                  });
    std::vector<int> area(pixels), target(pixels);
    std::vector<uint64_t> best(pixels);
    for (bool joined = minSize > 1; joined;)
    {
        std::fill(area.begin(), area.end(), 0);
        std::fill(best.begin(), best.end(), 0);
        for (int i = 0; i < pixels; ++i)
            ++area[root[i] = findRoot(root, i)];
        const auto consider = [&](int piece, int neighbour)
        {
            const uint64_t rank = pieceRank(area[neighbour], neighbour);
            if (area[piece] < minSize && rank > pieceRank(area[piece], piece) && rank > best[piece])
            {
                best[piece] = rank;
                target[piece] = neighbour;
            }
        };
        forNeighbours(cols, rows,
                      [&](int i, int j)
                      {
                          if (!counts[i] || !counts[j] || root[i] == root[j])
                              return;
                          consider(root[i], root[j]);
                          consider(root[j], root[i]);
                      });
        joined = false;
        for (int i = 0; i < pixels; ++i)
            if (best[i] != 0)
            {
                unite(i, target[i]);
                joined = true;
            }
    }
    return rankRoots(root, counts, labels);
}

}}}} // namespace cv::cuda::quick_shift::cpu
