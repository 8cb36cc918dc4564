// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Helpers of QuickShift's tests.
#ifndef OPENCV_CUDATRACKING_TEST_SCENES_QUICK_SHIFT_HPP
#define OPENCV_CUDATRACKING_TEST_SCENES_QUICK_SHIFT_HPP

#include "test_precomp.hpp"
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

inline void expectSame(const Results& expected, const Results& actual)
{
    EXPECT_TRUE(sameBits(expected.density, actual.density)) << "density";
    EXPECT_TRUE(sameBits(expected.parents, actual.parents)) << "parents";
    EXPECT_TRUE(sameBits(expected.distances, actual.distances)) << "distances";
    EXPECT_TRUE(sameBits(expected.labels, actual.labels)) << "labels";
    EXPECT_EQ(expected.count, actual.count);
}

//! enforceConnectivity() by flood fill and a list of pieces that is searched anew in each round.
inline Mat joinedPieces(const Mat& labels, int minSize)
{
    const int W = labels.cols, H = labels.rows;
    Mat piece(labels.size(), CV_32S, Scalar(-1)); // first pixel of the piece
    const auto neighbours = [&](int i)
    {
        std::vector<int> n;
        if (i % W > 0)
            n.push_back(i - 1);
        if (i % W < W - 1)
            n.push_back(i + 1);
        if (i >= W)
            n.push_back(i - W);
        if (i < W * (H - 1))
            n.push_back(i + W);
        return n;
    };
    int* p = piece.ptr<int>();
    const int* l = labels.ptr<int>();
    for (int i = 0; i < W * H; ++i)
    {
        if (p[i] >= 0 || l[i] < 0)
            continue;
        std::vector<int> stack(1, i);
        p[i] = i;
        while (!stack.empty())
        {
            const int at = stack.back();
            stack.pop_back();
            for (const int n : neighbours(at))
                if (p[n] < 0 && l[n] == l[at])
                {
                    p[n] = i;
                    stack.push_back(n);
                }
        }
    }
    for (bool joined = true; joined;)
    {
        joined = false;
        std::map<int, int> area;
        std::map<int, std::set<int>> adjacent;
        for (int i = 0; i < W * H; ++i)
            if (p[i] >= 0)
            {
                ++area[p[i]];
                for (const int n : neighbours(i))
                    if (p[n] >= 0 && p[n] != p[i])
                        adjacent[p[i]].insert(p[n]);
            }
        const auto larger = [&](int a, int b) { return area[a] > area[b] || (area[a] == area[b] && a < b); };
        std::map<int, int> target;
        for (const auto& a : area)
        {
            int best = a.first;
            for (const int n : adjacent[a.first])
                if (larger(n, best))
                    best = n;
            if (a.second < minSize && best != a.first)
                target[a.first] = best;
        }
        // Everyone moves to the end of its chain; the joined piece is named after its first pixel.
        std::map<int, int> name;
        for (int i = 0; i < W * H; ++i)
        {
            if (p[i] < 0)
                continue;
            while (target.count(p[i]))
            {
                p[i] = target[p[i]];
                joined = true;
            }
            name.insert(std::make_pair(p[i], i));
        }
        for (int i = 0; i < W * H; ++i)
            if (p[i] >= 0)
                p[i] = name[p[i]];
    }
    std::map<int, int> rank;
    for (int i = 0; i < W * H; ++i)
        if (p[i] >= 0)
            p[i] = rank.insert(std::make_pair(p[i], int(rank.size()))).first->second;
    return piece;
}

}} // namespace opencv_test::scenes

#endif // OPENCV_CUDATRACKING_TEST_SCENES_QUICK_SHIFT_HPP
