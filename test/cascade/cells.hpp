// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// LBP cascades whose results show the codes of their cells, and images with the least and the largest sums of cells.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_CELLS_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_CELLS_HPP

#include "generate.hpp"

namespace opencv_test {

//! A cascade of one stage that all windows pass. The weight of a window is the LBP code of its cells.
inline OracleCascade codeCascade(Size cell)
{
    OracleCascade c = {false, Size(3 * cell.width, 3 * cell.height), {}, {{{Rect(Point(), cell)}, {}, false}}};
    OracleStage stage = {-1.f, {}};
    for (int bit = 0; bit < 8; ++bit)
    {
        OracleNode node = {0, -1, 0, 0.f, std::vector<unsigned>(8)};
        for (int code = 0; code < 256; ++code)
            node.subset[code / 32] |= static_cast<unsigned>(code >> bit & 1) << (code % 32);
        stage.trees.push_back({{node}, {static_cast<float>(1 << bit), 0.f}});
    }
    c.stages.push_back(stage);
    return c;
}

//! Images whose cells have the least and the largest sums, sums that are equal, and sums that differ by 1.
inline std::vector<Mat> hardImages(RNG& rng, Size cell)
{
    const Size size(3 * cell.width + 9, 3 * cell.height + 5);
    std::vector<Mat> images;
    for (int k = 0; k < 6; ++k) // whole cells of 0 and 255
    {
        Mat image(size, CV_8UC1), cells(7, 7, CV_8UC1);
        for (int i = 0; i < 49; ++i)
            cells.at<uchar>(i / 7, i % 7) = rng.uniform(0, 2) ? 255 : 0;
        for (int y = 0; y < size.height; ++y)
            for (int x = 0; x < size.width; ++x)
                image.at<uchar>(y, x) = cells.at<uchar>(y / cell.height % 7, x / cell.width % 7);
        images.push_back(image.clone());
        const int x = rng.uniform(0, size.width);
        image.at<uchar>(rng.uniform(0, size.height), x) ^= 1;
        images.push_back(image);
    }
    for (int k = 0; k < 2; ++k) // pixels of 0 and 255
    {
        Mat image(size, CV_8UC1);
        for (int i = 0; i < size.area(); ++i)
            image.at<uchar>(i / size.width, i % size.width) = rng.uniform(0, 10) > k * 8 ? 255 : 0;
        images.push_back(image);
    }
    return images;
}

inline CascadeCase firstScaleOf(const OracleCascade& c) { return {1.1, 1, c.window, c.window}; }

/** Makes a cascade with the same results that is not narrow: windows for which the first stump goes right reach a
second node, which decides as the first one. */
inline OracleCascade wideForm(OracleCascade c)
{
    OracleTree& tree = c.stages[0].trees[0];
    OracleNode again = tree.nodes[0];
    const float left = tree.leaves[-again.left], right = tree.leaves[-again.right];
    tree.leaves = {left, 1000.f, right};
    tree.nodes[0].left = 0;
    tree.nodes[0].right = 1;
    again.left = -1;
    again.right = -2;
    tree.nodes.push_back(again);
    return c;
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_CELLS_HPP
