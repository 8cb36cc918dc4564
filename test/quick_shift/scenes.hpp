// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scenes and helpers of QuickShift's tests.
#ifndef OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_SCENES_HPP

#include "../test_precomp.hpp"
#include "../common/threads.hpp"
#include <map>
#include <set>

namespace opencv_test { namespace scenes {

using cv::cuda::QuickShift;

struct Results
{
    Mat labels, density, parents, distances;
    int count;
};

inline Results resultsOf(const QuickShift& q)
{
    Results r;
    q.getLabels(r.labels);
    q.getDensity(r.density);
    q.getParents(r.parents);
    q.getDistances(r.distances);
    r.count = q.getNumberOfSuperpixels();
    return r;
}

inline Results computed(QuickShift& q, const Mat& image, const Mat& mask = Mat())
{
    q.compute(image, mask);
    return resultsOf(q);
}

//! Returns an instance with the results of an image.
inline Ptr<QuickShift> shiftOf(double sigma, double maxDist, double scale, const Mat& image, const Mat& mask = Mat())
{
    const Ptr<QuickShift> q = QuickShift::create(sigma, maxDist, scale);
    q->compute(image, mask);
    return q;
}

//! Asks two instances for an array: get(instance, array).
template <typename Get> void expectSameArray(QuickShift& expected, QuickShift& actual, const Get& get)
{
    Mat a, b;
    get(expected, a);
    get(actual, b);
    EXPECT_TRUE(sameBits(a, b));
}

inline void expectSame(const Results& expected, const Results& actual)
{
    EXPECT_TRUE(sameBits(expected.density, actual.density)) << "density";
    EXPECT_TRUE(sameBits(expected.parents, actual.parents)) << "parents";
    EXPECT_TRUE(sameBits(expected.distances, actual.distances)) << "distances";
    EXPECT_TRUE(sameBits(expected.labels, actual.labels)) << "labels";
    EXPECT_EQ(expected.count, actual.count);
}

//! Computes a batch on both backends.
inline void expectSameBatch(QuickShift& cpu, QuickShift& gpu, const std::vector<Mat>& images)
{
    std::vector<Mat> labels;
    std::vector<cuda::GpuMat> there, thereLabels;
    for (const Mat& image : images)
        there.push_back(cuda::GpuMat(image));
    cpu.computeBatch(images, labels);
    gpu.computeBatch(there, thereLabels);
    expectSame(resultsOf(cpu), resultsOf(gpu));
    for (size_t i = 0; i < images.size(); ++i)
        EXPECT_TRUE(sameBits(labels[i], Mat(thereLabels[i])));
}

//! Calls run(), which returns Results, on four threads concurrently.
template <typename Run> void expectSameOnThreads(const Results& expected, const Run& run)
{
    std::vector<Results> results(4);
    onThreads(4,
              [&](int i)
              {
                  results[i] = run();
                  return std::string();
              });
    for (const Results& r : results)
        expectSame(expected, r);
}

//! Returns a mask of every spacing-th pixel of every spacing-th row.
inline Mat gridMask(Size size, int spacing, Point origin)
{
    Mat mask = Mat::zeros(size, CV_8U);
    for (int y = origin.y; y < size.height; y += spacing)
        for (int x = origin.x; x < size.width; x += spacing)
            mask.at<uchar>(y, x) = 1;
    return mask;
}

/** The pixel `at` has two candidates at distance r, each with a neighbour that makes it denser (for sigma 0.3): one
beside it of another colour, and one r pixels above or below of the same colour. */
struct RingTie
{
    Mat image, mask; //!< CV_8UC4
    int parent;      //!< raster index of the one that comes first
    RingTie(int r, bool above, Point at) : image(90, 90, CV_8UC4, Scalar::all(100)), mask(Mat::zeros(90, 90, CV_8U))
    {
        const int up = above ? -1 : 1;
        const Point beside(at.x + 1, at.y), away(at.x, at.y + up * r);
        for (const Point p : {at, beside, beside + Point(1, 0), away, away + Point(0, up)})
            mask.at<uchar>(p) = 1;
        const Vec4b colour = Vec4b(100, 100, 100, 100) + squares(r * r - 1);
        image.at<Vec4b>(beside) = image.at<Vec4b>(beside + Point(1, 0)) = colour;
        parent = above ? away.y * image.cols + away.x : beside.y * image.cols + beside.x;
    }
    //! Returns four integers whose squares sum up to n.
    static Vec4b squares(int n)
    {
        for (int a = 0; a * a <= n; ++a)
            for (int b = 0; a * a + b * b <= n; ++b)
                for (int c = 0; a * a + b * b + c * c <= n; ++c)
                {
                    const int left = n - a * a - b * b - c * c, d = cvRound(std::sqrt(static_cast<double>(left)));
                    if (d * d == left)
                        return Vec4b(saturate_cast<uchar>(a), saturate_cast<uchar>(b), saturate_cast<uchar>(c),
                                     saturate_cast<uchar>(d));
                }
        return Vec4b();
    }
};

inline std::vector<int> neighbours4(Size size, int i)
{
    std::vector<int> n;
    if (i % size.width > 0)
        n.push_back(i - 1);
    if (i % size.width < size.width - 1)
        n.push_back(i + 1);
    if (i >= size.width)
        n.push_back(i - size.width);
    if (i < size.width * (size.height - 1))
        n.push_back(i + size.width);
    return n;
}

//! Returns the first pixel of each pixel's 4-connected piece of equal labels, by flood fill; -1 where masked.
inline Mat floodPieces(const Mat& labels)
{
    Mat piece(labels.size(), CV_32S, Scalar(-1));
    int* p = piece.ptr<int>();
    const int* l = labels.ptr<int>();
    for (int i = 0; i < int(labels.total()); ++i)
    {
        if (p[i] >= 0 || l[i] < 0)
            continue;
        std::vector<int> stack(1, i);
        p[i] = i;
        while (!stack.empty())
        {
            const int at = stack.back();
            stack.pop_back();
            for (const int n : neighbours4(labels.size(), at))
                if (p[n] < 0 && l[n] == l[at])
                {
                    p[n] = i;
                    stack.push_back(n);
                }
        }
    }
    return piece;
}

//! Returns one round of joining: from each small piece to its largest larger neighbour. Empty if no piece joins
//! another.
inline std::map<int, int> joinTargets(const Mat& piece, int minSize)
{
    const int* p = piece.ptr<int>();
    std::map<int, int> area, target;
    std::map<int, std::set<int>> adjacent;
    for (int i = 0; i < int(piece.total()); ++i)
        if (p[i] >= 0)
        {
            ++area[p[i]];
            for (const int n : neighbours4(piece.size(), i))
                if (p[n] >= 0 && p[n] != p[i])
                    adjacent[p[i]].insert(p[n]);
        }
    const auto larger = [&](int a, int b) { return area[a] > area[b] || (area[a] == area[b] && a < b); };
    for (const auto& a : area)
    {
        int best = a.first;
        for (const int n : adjacent[a.first])
            if (larger(n, best))
                best = n;
        if (a.second < minSize && best != a.first)
            target[a.first] = best;
    }
    return target;
}

//! Returns the labels of enforceConnectivity(), by flood fill and a list of pieces that each round searches anew.
inline Mat joinedPieces(const Mat& labels, int minSize)
{
    Mat piece = floodPieces(labels);
    int* p = piece.ptr<int>();
    const int n = int(piece.total());
    for (std::map<int, int> target; !(target = joinTargets(piece, minSize)).empty();)
    {
        // Each piece moves to the end of its chain; the joined piece is named after its first pixel.
        std::map<int, int> name;
        for (int i = 0; i < n; ++i)
        {
            while (p[i] >= 0 && target.count(p[i]))
                p[i] = target[p[i]];
            name.insert(std::make_pair(p[i], i));
        }
        for (int i = 0; i < n; ++i)
            p[i] = p[i] < 0 ? -1 : name[p[i]];
    }
    std::map<int, int> rank;
    for (int i = 0; i < n; ++i)
        if (p[i] >= 0)
            p[i] = rank.insert(std::make_pair(p[i], int(rank.size()))).first->second;
    return piece;
}

}} // namespace opencv_test::scenes

#endif // OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_SCENES_HPP
