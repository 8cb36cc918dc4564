// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda {

using namespace quick_shift;

namespace {

const int MAX_SIDE = 65535;
// Below and above these a common scale goes into the features: densityRate() holds 8-bit distances exactly in between.
const double MIN_COMMON_SCALE = 1. / 1024, MAX_COMMON_SCALE = 1024.;

bool isDevice(const _InputArray& array) { return array.kind() == _InputArray::CUDA_GPU_MAT; }

bool isSupported(int type)
{
    const int depth = CV_MAT_DEPTH(type);
    return (depth == CV_8U || depth == CV_16U || depth == CV_32F) && CV_MAT_CN(type) <= MAX_CHANNELS;
}

void checkPicture(const _InputArray& image, const _InputArray& mask)
{
    const Size size = image.size();
    if (!isSupported(image.type()))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("QuickShift takes CV_8U, CV_16U or CV_32F with 1 to 4 channels, image is %s",
                   typeToString(image.type()).c_str()));
    CV_CheckLE(size.width, MAX_SIDE, "QuickShift: image too wide");
    CV_CheckLE(size.height, MAX_SIDE, "QuickShift: image too high");
    if (mask.empty())
        return;
    CV_CheckTypeEQ(mask.type(), CV_8UC1, "QuickShift: mask");
    CV_Check(mask.size(), mask.size() == size, "QuickShift: mask must have the image's size");
    if (isDevice(mask) != isDevice(image))
        CV_Error(Error::StsBadArg, "QuickShift: image and mask must both be on the host or both on the device");
}

void checkPixels(Size size, size_t pictures)
{
    const double pixels = static_cast<double>(size.width) * size.height * static_cast<double>(pictures);
    CV_CheckLT(pixels, 2147483648., "QuickShift: too many pixels");
}

//! Every element of an array of pictures as an InputArray of its own.
std::vector<_InputArray> elements(InputArrayOfArrays images, std::vector<Mat>& mats, std::vector<GpuMat>& gpuMats)
{
    std::vector<_InputArray> out;
    if (images.kind() == _InputArray::STD_VECTOR_CUDA_GPU_MAT)
        images.getGpuMatVector(gpuMats);
    else
        images.getMatVector(mats);
    for (const Mat& m : mats)
        out.push_back(m);
    for (const GpuMat& m : gpuMats)
        out.push_back(m);
    return out;
}

class QuickShiftImpl CV_FINAL : public QuickShift
{
public:
    QuickShiftImpl(double sigma, double maxDist, double colorScale)
    {
        setSigma(sigma);
        setMaxDist(maxDist);
        setColorScale(colorScale);
    }

    void setSigma(double sigma) CV_OVERRIDE
    {
        CV_Check(sigma, sigma > 0. && std::ceil(3. * sigma) <= MAX_WINDOW_RADIUS,
                 "QuickShift: sigma must be in (0,341]");
        sigma_ = sigma;
    }
    void setMaxDist(double maxDist) CV_OVERRIDE
    {
        CV_Check(maxDist, maxDist > 0. && maxDist <= MAX_SEARCH_RADIUS, "QuickShift: maxDist must be in (0,32767]");
        maxDist_ = maxDist;
    }
    void setColorScale(double scale) CV_OVERRIDE { setChannelScales(Scalar::all(scale)); }
    void setChannelScales(const Scalar& scales) CV_OVERRIDE
    {
        for (int k = 0; k < MAX_CHANNELS; ++k)
            CV_Check(scales[k], scales[k] >= 0. && scales[k] <= 1e9, "QuickShift: a colour scale must be in [0,1e9]");
        scales_ = scales;
    }
    void setSearchRadius(int radius) CV_OVERRIDE
    {
        CV_Check(radius, radius >= SEARCH_WINDOW && radius <= MAX_SEARCH_RADIUS, "QuickShift: search radius");
        searchRadius_ = radius;
    }
    void setTieRule(int rule) CV_OVERRIDE
    {
        CV_Check(rule, rule == INDEX || rule == STRICT, "QuickShift: tie rule must be INDEX or STRICT");
        tieRule_ = rule;
    }
    void setNormalizeDensity(bool normalize) CV_OVERRIDE { normalize_ = normalize; }
    double getSigma() const CV_OVERRIDE { return sigma_; }
    double getMaxDist() const CV_OVERRIDE { return maxDist_; }
    Scalar getChannelScales() const CV_OVERRIDE { return scales_; }
    int getSearchRadius() const CV_OVERRIDE { return searchRadius_; }
    int getTieRule() const CV_OVERRIDE { return tieRule_; }
    bool getNormalizeDensity() const CV_OVERRIDE { return normalize_; }

    void compute(InputArray image, InputArray mask, Stream& stream) CV_OVERRIDE
    {
        if (image.empty())
            return clear();
        checkPicture(image, mask);
        checkPixels(image.size(), 1);
        std::vector<_InputArray> masks;
        if (!mask.empty())
            masks.push_back(mask);
        run({image}, masks, isDevice(image), stream);
    }

    void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels, Stream& stream) CV_OVERRIDE
    {
        std::vector<Mat> mats;
        std::vector<GpuMat> gpuMats;
        const std::vector<_InputArray> pictures = elements(images, mats, gpuMats);
        if (pictures.empty() || pictures[0].empty())
            return clear();
        for (const _InputArray& picture : pictures)
        {
            checkPicture(picture, noArray());
            CV_Check(picture.size(), picture.size() == pictures[0].size(),
                     "QuickShift: pictures of a batch must have one size");
            CV_CheckTypeEQ(picture.type(), pictures[0].type(), "QuickShift: pictures of a batch must have one type");
        }
        checkPixels(pictures[0].size(), pictures.size());
        run(pictures, {}, !gpuMats.empty(), stream);
        if (labels.kind() == _InputArray::STD_VECTOR_CUDA_GPU_MAT)
        {
            std::vector<GpuMat>& out = labels.getGpuMatVecRef();
            out.resize(pictures.size());
            for (size_t i = 0; i < out.size(); ++i)
                engine_->labels(out[i], static_cast<int>(i), stream);
        }
        else if (labels.needed())
        {
            labels.create(static_cast<int>(pictures.size()), 1, CV_32S);
            for (int i = 0; i < static_cast<int>(pictures.size()); ++i)
                engine_->labels(labels.getMatRef(i), i, stream);
        }
    }

    void computeTiled(InputArray image, Size tile, bool useCuda, InputArray mask) CV_OVERRIDE
    {
        if (image.empty())
            return clear();
        checkPicture(image, mask);
        CV_Check(tile, tile.width > 0 && tile.height > 0, "QuickShift: tile");
        if (isDevice(image))
            CV_Error(Error::StsBadArg, "QuickShift: computeTiled() takes a picture on the host");
        checkPixels(image.size(), 1);
        const Plan plan = makePlan(image.size(), image.type());
        engine_ = nullptr;
        tiled_ = quick_shift::computeTiled(image.getMat(), mask.getMat(), tile, plan, *makeEngine(useCuda));
        adopt(tiled_.get(), 1, image.size());
    }

    int getNumberOfSuperpixels() const CV_OVERRIDE { return engine_ ? engine_->count() : 0; }
    void getLabels(OutputArray labels, Stream& stream) const CV_OVERRIDE
    {
        if (has(labels))
            engine_->labels(labels, -1, stream);
    }
    void getDensity(OutputArray density, Stream& stream) const CV_OVERRIDE
    {
        if (has(density))
            engine_->density(density, stream);
    }
    void getParents(OutputArray parents, Stream& stream) const CV_OVERRIDE
    {
        if (has(parents))
            engine_->parents(parents, stream);
    }
    void getDistances(OutputArray distances, Stream& stream) const CV_OVERRIDE
    {
        if (has(distances))
            engine_->distances(distances, stream);
    }

    void segment(double tau, OutputArray labels, Stream& stream) CV_OVERRIDE
    {
        checkTau(tau);
        if (has(labels))
            engine_->segment(static_cast<float>(tau), labels, stream);
    }
    int countSuperpixels(double tau, Stream& stream) CV_OVERRIDE
    {
        checkTau(tau);
        return engine_ ? engine_->countAt(static_cast<float>(tau), stream) : 0;
    }
    void getMergeHeights(OutputArray heights, OutputArray counts, Stream& stream) CV_OVERRIDE
    {
        if (has(heights) && (!counts.needed() || has(counts)))
            engine_->mergeHeights(heights, counts, stream);
        else if (counts.needed())
            counts.release();
    }
    void getLabelContourMask(OutputArray mask, bool thickLine, Stream& stream) const CV_OVERRIDE
    {
        if (has(mask))
            engine_->contours(mask, thickLine, stream);
    }
    void getMeanColor(InputArray image, OutputArray dst, Stream& stream) const CV_OVERRIDE
    {
        checkSecond(image);
        if (has(dst))
            engine_->meanColor(image, dst, stream);
    }
    void getStatistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids, OutputArray boxes,
                       Stream& stream) const CV_OVERRIDE
    {
        checkSecond(image);
        if (engine_)
            return engine_->statistics(image, areas, means, centroids, boxes, stream);
        for (const _OutputArray* out : {&areas, &means, &centroids, &boxes})
            out->release();
    }
    int enforceConnectivity(int minSize, Stream& stream) CV_OVERRIDE
    {
        CV_CheckGE(minSize, 1, "QuickShift: minSize");
        checkNoStack();
        return engine_ ? engine_->connect(minSize, stream) : 0;
    }

    size_t workspaceBytes() const CV_OVERRIDE { return cuda_ ? cuda_->workspaceBytes() : 0; }
    void clear() CV_OVERRIDE { engine_ = nullptr; }
    bool empty() const CV_OVERRIDE { return engine_ == nullptr; }

    void write(FileStorage& fs) const CV_OVERRIDE
    {
        writeFormat(fs);
        fs << "sigma" << sigma_ << "maxDist" << maxDist_ << "channelScales" << scales_ << "searchRadius"
           << searchRadius_;
        fs << "tieRule" << tieRule_ << "normalizeDensity" << static_cast<int>(normalize_);
    }

    //! All members are checked before any is taken.
    void read(const FileNode& fn) CV_OVERRIDE
    {
        QuickShiftImpl other(sigma_, maxDist_, 1.);
        if (!fn["sigma"].empty())
            other.setSigma(static_cast<double>(fn["sigma"]));
        if (!fn["maxDist"].empty())
            other.setMaxDist(static_cast<double>(fn["maxDist"]));
        Scalar scales = scales_;
        fn["channelScales"] >> scales;
        other.setChannelScales(fn["channelScales"].empty() ? scales_ : scales);
        other.setSearchRadius(fn["searchRadius"].empty() ? searchRadius_ : static_cast<int>(fn["searchRadius"]));
        other.setTieRule(fn["tieRule"].empty() ? tieRule_ : static_cast<int>(fn["tieRule"]));
        sigma_ = other.sigma_;
        maxDist_ = other.maxDist_;
        scales_ = other.scales_;
        searchRadius_ = other.searchRadius_;
        tieRule_ = other.tieRule_;
        if (!fn["normalizeDensity"].empty())
            normalize_ = static_cast<int>(fn["normalizeDensity"]) != 0;
    }

private:
    Plan makePlan(Size size, int type) const
    {
        const int channels = CV_MAT_CN(type);
        bool common = scales_[0] >= MIN_COMMON_SCALE && scales_[0] <= MAX_COMMON_SCALE;
        for (int k = 1; k < channels; ++k)
            common = common && scales_[k] == scales_[0];

        Plan plan;
        Parameters& p = plan.parameters;
        p.radius = static_cast<int>(std::ceil(3. * sigma_));
        const int wanted = searchRadius_ == SEARCH_WINDOW ? p.radius : static_cast<int>(std::ceil(maxDist_));
        p.searchRadius = std::min(searchRadius_ > 0 ? searchRadius_ : wanted, std::max(size.width, size.height));
        p.shift = keyShift(p.radius);
        p.colorWeight = common ? static_cast<float>(scales_[0] * scales_[0]) : 1.f;
        p.minusRate = -densityRate(common ? scales_[0] * scales_[0] : 1., sigma_);
        p.reach = reachOf(static_cast<float>(maxDist_));
        p.strict = tieRule_ == STRICT;
        p.normalize = normalize_;
        plan.scaled = !common;
        for (int k = 0; k < MAX_CHANNELS; ++k)
            plan.scales[k] = common ? 1.f : static_cast<float>(scales_[k]);
        const int width = 2 * p.radius + 1;
        plan.spatial.resize(static_cast<size_t>(p.radius + 1) * width);
        for (int dy = 0; dy <= p.radius; ++dy)
            for (int dx = -p.radius; dx <= p.radius; ++dx)
                plan.spatial[static_cast<size_t>(dy) * width + dx + p.radius] =
                    static_cast<float>(std::exp(-(dx * dx + dy * dy) / (2. * sigma_ * sigma_)));
        return plan;
    }

    static std::unique_ptr<Engine> makeEngine(bool cuda)
    {
        if (!cuda)
            return makeCpuEngine();
#ifdef HAVE_CUDA
        return makeCudaEngine();
#else
        CV_Error(Error::GpuNotSupported, "QuickShift: this build has no CUDA");
#endif
    }

    void run(const std::vector<_InputArray>& images, const std::vector<_InputArray>& masks, bool device, Stream& stream)
    {
        std::unique_ptr<Engine>& engine = device ? cuda_ : cpu_;
        if (!engine)
            engine = makeEngine(device);
        engine_ = nullptr; // a throw on the way leaves no half results behind
        engine->compute(images, masks, makePlan(images[0].size(), images[0].type()), stream);
        adopt(engine.get(), static_cast<int>(images.size()), images[0].size());
    }

    void adopt(Engine* engine, int pictures, Size size)
    {
        engine_ = engine;
        size_ = size;
        pictures_ = pictures;
        computedMaxDist_ = maxDist_;
    }

    //! False, and the output empty, when there is nothing to give.
    bool has(OutputArray out) const
    {
        if (!engine_ && out.needed())
            out.release();
        return engine_ != nullptr && out.needed();
    }

    void checkTau(double tau) const
    {
        CV_Check(tau, tau > 0. && (!engine_ || tau <= computedMaxDist_),
                 "QuickShift: tau must be in (0, maxDist of compute()]");
    }
    void checkNoStack() const { CV_Check(pictures_, pictures_ == 1, "QuickShift: not after computeBatch()"); }
    void checkSecond(InputArray image) const
    {
        checkNoStack();
        if (!engine_)
            return;
        checkPicture(image, noArray());
        CV_Check(image.size(), image.size() == size_, "QuickShift: image must have the size of the last compute()");
        if (isDevice(image) != (engine_ == cuda_.get()))
            CV_Error(Error::StsBadArg, "QuickShift: image must be where the picture of the last compute() was");
    }

    double sigma_ = 6., maxDist_ = 10.;
    Scalar scales_ = Scalar::all(1.);
    int searchRadius_ = SEARCH_MAX_DIST, tieRule_ = INDEX;
    bool normalize_ = false;

    std::unique_ptr<Engine> cpu_, cuda_, tiled_;
    Engine* engine_ = nullptr; //!< whose results the getters give; null: none
    Size size_;
    int pictures_ = 1;
    double computedMaxDist_ = 0.;
};

} // namespace

Ptr<QuickShift> QuickShift::create(double sigma, double maxDist, double colorScale)
{
    return makePtr<QuickShiftImpl>(sigma, maxDist, colorScale);
}

String QuickShift::getDefaultName() const { return "QuickShift"; }

}} // namespace cv::cuda
