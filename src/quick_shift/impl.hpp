// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Class behind cv::cuda::QuickShift. quick_shift.cpp has its settings and compute(), results.cpp the methods on
// results.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_IMPL_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_IMPL_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "../common/file_write.hpp"
#include "../common/lockable.hpp"
#include "engine.hpp"

namespace cv { namespace cuda { namespace quick_shift {

//! Parents of the last compute(), on the host; none without results.
struct ComputedTrees
{
    Settings settings;
    int images;
    Mat parents;
};

class QuickShiftImpl final : public QuickShift, public detail::Lockable<QuickShiftImpl>
{
public:
    QuickShiftImpl(double sigma, double maxDist, double colorScale);
    explicit QuickShiftImpl(const UserSettings& settings) : user_(settings) {}

    UserSettings settings() const { return locked()->user_; }
    //! Returns what compute() uses for images of this size and type. Not locked.
    Settings settingsFor(Size size, int type);
    void setSigma(double sigma) override { locked()->set(SIGMA, sigma); }
    void setMaxDist(double maxDist) override { locked()->set(MAX_DIST, maxDist); }
    void setColorScale(double scale) override;
    void setChannelScales(const Scalar& scales) override { locked()->setScales({scales.val, scales.val + 4}); }
    void setScales(const std::vector<double>& scales) override;
    void setSearchRadius(int radius) override { locked()->set(SEARCH_RADIUS, radius); }
    void setTieRule(int rule) override { locked()->set(TIE_RULE, rule); }
    void setNormalizeDensity(bool normalize) override { locked()->set(NORMALIZE_DENSITY, normalize); }
    double getSigma() const override { return locked()->user_.sigma; }
    double getMaxDist() const override { return locked()->user_.maxDist; }
    double getColorScale() const override { return locked()->user_.channelScales[0]; }
    Scalar getChannelScales() const override { return Scalar(Vec4d(locked()->user_.channelScales.data())); }
    std::vector<double> getScales() const override { return locked()->user_.channelScales; }
    int getSearchRadius() const override { return locked()->user_.searchRadius; }
    int getTieRule() const override { return locked()->user_.tieRule; }
    bool getNormalizeDensity() const override { return locked()->user_.normalizeDensity; }

    void compute(InputArray image, InputArray mask, Stream& stream) override;
    void computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels, InputArrayOfArrays masks,
                      Stream& stream) override;
    void computeTiled(InputArray image, Size tile, bool useCuda, InputArray mask) override;
    void computeNoisy(InputArray image, InputArray noise, InputArray mask) override;

    int getNumberOfSuperpixels() const override;
    void getSuperpixelCounts(OutputArray counts, Stream& stream) const override;
    void getLabels(OutputArray labels, Stream& stream) const override;
    void getDensity(OutputArray density, Stream& stream) const override;
    void getParents(OutputArray parents, Stream& stream) const override;
    void getDistances(OutputArray distances, Stream& stream) const override;
    void segment(double tau, OutputArray labels, Stream& stream) override;
    int countSuperpixels(double tau, Stream& stream) override;
    void applyTau(double tau, Stream& stream) override;
    double tauForSuperpixels(int number, Stream& stream) override;
    int applyNumber(int number, int minSize, Stream& stream) override;
    void getMergeHeights(OutputArray heights, OutputArray counts, Stream& stream) override;
    void getLabelContourMask(OutputArray mask, bool thickLine, Stream& stream) const override;
    void getMeanColor(InputArray image, OutputArray dst, Stream& stream) const override;
    void getStatistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids, OutputArray boxes,
                       Stream& stream) const override;
    void getAdjacency(OutputArray pairs, Stream& stream) const override;
    int enforceConnectivity(int minSize, Stream& stream) override;
    ComputedTrees trees() const;

    size_t workspaceBytes() const override;
    void clear() override { locked()->engine_ = nullptr; }
    bool empty() const override { return locked()->engine_ == nullptr; }
    void save(const String& filename) const override { detail::saveAlgorithm(*locked(), filename); }
    void write(FileStorage& fs) const override;
    void read(const FileNode& fn) override;

private:
    typedef std::unique_ptr<Results> ResultsPtr;
    typedef std::function<void(Results&, const OutputView&)> PixelWriter;

    //! Checks and sets a setting.
    template <typename T> void set(const Setting<T>& setting, const T& value)
    {
        setting.check(value);
        user_.*setting.member = value;
    }
    std::unique_ptr<Engine>& engineOf(bool device);
    //! Computes images by the engine of their backend.
    void run(const std::vector<detail::Array>& images, const std::vector<detail::Array>& masks,
             const std::vector<OutputView>& labels, Stream& stream);
    void runBatch(const std::vector<detail::Array>& images, const std::vector<detail::Array>& masks,
                  OutputArrayOfArrays labels, Stream& stream);

    //! Begins a call on the results that are visible on this stream. @return null before compute().
    ResultsPtr resultsOn(const Stream& stream) const;
    ResultsPtr resultsToCut(double tau, const Stream& stream) const;
    static void writeHeights(Results& results, OutputArray heights, OutputArray counts, const Stream& stream);
    //! Returns the image for mean colours. @throws cv::Exception if its memory or size is not that of the results.
    static ImageView imageForMeans(const Results& results, const detail::Array& given);
    //! Calls write(*results, view) for an output of one value per pixel; releases the array if `results` is null.
    static void writePixels(const char* name, int type, OutputArray out, const ResultsPtr& results,
                            const Stream& stream, const PixelWriter& write);

    UserSettings user_;
    std::shared_ptr<const Spatial> spatial_;    //!< factors of the last compute()
    std::unique_ptr<Engine> cpu_, cuda_, made_; //!< made_: with the results of computeTiled() or computeNoisy()
    Engine* engine_ = nullptr; //!< engine of the current results; null before compute() and after clear()
};

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_IMPL_HPP
