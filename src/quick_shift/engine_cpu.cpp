// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

class CpuEngine : public Engine
{
public:
    CpuEngine() = default;

    //! Takes over what tiles gave.
    CpuEngine(const Mat& keys, const Mat& parents, const Mat& distances, const Parameters& parameters)
        : parameters_(parameters), keys_(keys), parents_(parents), distances_(distances)
    {
        count_ = cpu::label(parents_, labels_);
    }

    void compute(const std::vector<_InputArray>& images, const std::vector<_InputArray>& masks, const Plan& plan,
                 Stream&) CV_OVERRIDE
    {
        const Size size = images[0].size();
        pictures_ = static_cast<int>(images.size());
        parameters_ = plan.parameters;
        for (Mat* stack : {&keys_, &parents_, &labels_})
            stack->create(size.height * pictures_, size.width, CV_32S);
        distances_.create(size.height * pictures_, size.width, CV_32F);
        count_ = 0;
        for (int i = 0; i < pictures_; ++i)
        {
            Mat keys = picture(keys_, i), parents = picture(parents_, i), distances = picture(distances_, i);
            Mat labels = picture(labels_, i);
            const Mat mask = masks.empty() ? Mat() : masks[i].getMat();
            cpu::pack(images[i].getMat(), mask, plan, features_);
            cpu::density(features_, plan, keys);
            cpu::parents(features_, keys, parameters_, parents, distances);
            count_ += cpu::label(parents, labels);
        }
    }

    void computeFromHost(const Mat& image, const Mat& mask, const Plan& plan) CV_OVERRIDE
    {
        std::vector<_InputArray> masks;
        if (!mask.empty())
            masks.push_back(mask);
        compute({image}, masks, plan, noStream());
    }

    int count() CV_OVERRIDE { return count_; }
    void labels(OutputArray out, int i, Stream&) CV_OVERRIDE { (i < 0 ? labels_ : picture(labels_, i)).copyTo(out); }
    void parents(OutputArray out, Stream&) CV_OVERRIDE { parents_.copyTo(out); }
    void distances(OutputArray out, Stream&) CV_OVERRIDE { distances_.copyTo(out); }

    void density(OutputArray out, Stream&) CV_OVERRIDE
    {
        out.create(keys_.size(), CV_32F);
        Mat density = out.getMat();
        for (int y = 0; y < keys_.rows; ++y)
            for (int x = 0; x < keys_.cols; ++x)
                density.ptr<float>(y)[x] = keyDensity(keys_.ptr<uint32_t>(y)[x], parameters_);
    }

    void segment(float tau, OutputArray out, Stream&) CV_OVERRIDE
    {
        Mat cutParents, labels(parents_.size(), CV_32S);
        for (int i = 0; i < pictures_; ++i)
        {
            Mat part = picture(labels, i);
            cpu::cut(picture(parents_, i), picture(distances_, i), tau, cutParents);
            cpu::label(cutParents, part);
        }
        labels.copyTo(out);
    }

    int countAt(float tau, Stream&) CV_OVERRIDE
    {
        int n = 0;
        const int pixels = parents_.rows * parents_.cols;
        for (int i = 0; i < pixels; ++i)
            n += parents_.ptr<int>()[i] >= 0 && distances_.ptr<float>()[i] > tau;
        return n;
    }

    void mergeHeights(OutputArray heights, OutputArray counts, Stream&) CV_OVERRIDE
    {
        std::vector<float> links;
        int roots = 0;
        const int pixels = parents_.rows * parents_.cols;
        for (int i = 0; i < pixels; ++i)
        {
            const float d = distances_.ptr<float>()[i];
            if (parents_.ptr<int>()[i] < 0)
                continue;
            if (isFinite(d))
                links.push_back(d);
            else
                ++roots;
        }
        std::sort(links.begin(), links.end());
        std::vector<float> distinct;
        std::vector<int> left;
        for (size_t i = 0; i < links.size(); ++i)
            if (i + 1 == links.size() || links[i + 1] != links[i])
            {
                distinct.push_back(links[i]);
                left.push_back(roots + static_cast<int>(links.size() - 1 - i));
            }
        const int n = static_cast<int>(distinct.size()); // Mat(distinct) would be one row in OpenCV 5
        if (heights.needed())
            Mat(n, 1, CV_32F, distinct.data()).copyTo(heights);
        if (counts.needed())
            Mat(n, 1, CV_32S, left.data()).copyTo(counts);
    }

    void contours(OutputArray out, bool thick, Stream&) CV_OVERRIDE
    {
        out.create(labels_.size(), CV_8U);
        Mat mask = out.getMat();
        for (int i = 0; i < pictures_; ++i)
        {
            Mat part = picture(mask, i);
            cpu::contours(picture(labels_, i), thick, part);
        }
    }

    void meanColor(InputArray image, OutputArray out, Stream&) CV_OVERRIDE
    {
        const Mat src = image.getMat(); // before create(): out may be image
        out.create(src.size(), src.type());
        Mat dst = out.getMat();
        cpu::meanColor(labels_, count_, src, dst);
    }

    void statistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids, OutputArray boxes,
                    Stream&) CV_OVERRIDE
    {
        const Mat src = image.getMat();
        const double scale = cpu::colourScale(src);
        const std::vector<cpu::Sums> all = cpu::sums(labels_, count_, means.needed() ? src : Mat(), scale);
        Mat a(count_, 1, CV_32S), m(count_, 1, CV_MAKETYPE(CV_32F, src.channels())), c(count_, 1, CV_32FC2);
        Mat b(count_, 1, CV_32SC4);
        for (int i = 0; i < count_; ++i)
        {
            const cpu::Sums& s = all[i];
            a.at<int>(i) = static_cast<int>(s.area);
            for (int k = 0; k < src.channels(); ++k)
                m.ptr<float>(i)[k] = meanOf(s.colour[k], s.area, scale);
            c.at<Vec2f>(i) = Vec2f(meanOf(s.x, s.area, 1.), meanOf(s.y, s.area, 1.));
            b.at<Vec4i>(i) = Vec4i(s.left, s.top, s.right - s.left + 1, s.bottom - s.top + 1);
        }
        if (areas.needed())
            a.copyTo(areas);
        if (means.needed())
            m.copyTo(means);
        if (centroids.needed())
            c.copyTo(centroids);
        if (boxes.needed())
            b.copyTo(boxes);
    }

    int connect(int minSize, Stream&) CV_OVERRIDE { return count_ = cpu::connect(labels_, minSize); }
    size_t workspaceBytes() const CV_OVERRIDE { return 0; }

    void fetch(Mat& keys, Mat& parents, Mat& distances) CV_OVERRIDE
    {
        keys = keys_;
        parents = parents_;
        distances = distances_;
    }

private:
    Mat picture(const Mat& stack, int i) const
    {
        const int rows = stack.rows / pictures_;
        return stack.rowRange(i * rows, (i + 1) * rows);
    }

    Parameters parameters_ = {};
    cpu::Features features_;
    Mat keys_, parents_, distances_, labels_;
    int pictures_ = 1, count_ = 0;
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::unique_ptr<Engine>(new CpuEngine); }

std::unique_ptr<Engine> computeTiled(const Mat& image, const Mat& mask, Size tile, const Plan& plan, Engine& worker)
{
    const Rect whole(Point(), image.size());
    const int border = plan.parameters.radius + plan.parameters.searchRadius;
    Mat keys(image.size(), CV_32S), parents(image.size(), CV_32S), distances(image.size(), CV_32F);
    for (int64 y = 0; y < image.rows; y += tile.height)
        for (int64 x = 0; x < image.cols; x += tile.width)
        {
            const Rect core = Rect(static_cast<int>(x), static_cast<int>(y), std::min(tile.width, image.cols),
                                   std::min(tile.height, image.rows)) &
                              whole;
            const Rect part =
                Rect(core.x - border, core.y - border, core.width + 2 * border, core.height + 2 * border) & whole;
            Mat partKeys, partParents, partDistances;
            worker.computeFromHost(image(part), mask.empty() ? Mat() : mask(part), plan);
            worker.fetch(partKeys, partParents, partDistances);
            const Rect inside(core.tl() - part.tl(), core.size());
            partKeys(inside).copyTo(keys(core));
            partDistances(inside).copyTo(distances(core));
            for (int r = 0; r < core.height; ++r)
                for (int c = 0; c < core.width; ++c)
                {
                    const int parent = partParents.ptr<int>(inside.y + r)[inside.x + c];
                    parents.ptr<int>(core.y + r)[core.x + c] =
                        parent < 0 ? -1 : (part.y + parent / part.width) * image.cols + part.x + parent % part.width;
                }
        }
    return std::unique_ptr<Engine>(new CpuEngine(keys, parents, distances, plan.parameters));
}

}}} // namespace cv::cuda::quick_shift
