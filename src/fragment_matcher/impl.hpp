// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The class behind cv::cuda::FragmentMatcher. fragment_matcher.cpp: fragments and parameters; matching.cpp: the rest.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP

#include "../precomp.hpp"
#include "arguments.hpp"
#include "engine_cuda.hpp"

#include <algorithm>
#include <memory>

namespace cv { namespace cuda { namespace fragment_matcher {

class FragmentMatcherImpl CV_FINAL : public FragmentMatcher
{
public:
    explicit FragmentMatcherImpl(const Params& params) : params_(params) {}

    void setParams(const Params& params) CV_OVERRIDE;
    Params getParams() const CV_OVERRIDE { return params_; }

    void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights, Stream& stream) CV_OVERRIDE;
    void cutFragments(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights,
                      Stream& stream) CV_OVERRIDE;
    int addFragment(InputArray templ, InputArray weights, Stream& stream) CV_OVERRIDE;
    void updateFragment(int index, InputArray templ, InputArray weights, Stream& stream) CV_OVERRIDE;
    void removeFragment(int index) CV_OVERRIDE;
    void clear() CV_OVERRIDE;

    void setPredictions(InputArray locations) CV_OVERRIDE;
    void match(InputArray frame, InputArray searchAreas, OutputArray locations, OutputArray scores,
               OutputArray confidence, OutputArray status, OutputArray refined, Stream& stream) CV_OVERRIDE;
    void convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status, InputArray refined,
                 std::vector<FragmentMatch>& matches, Stream& stream) const CV_OVERRIDE;
    void find(InputArray frame, InputArray searchAreas, std::vector<FragmentMatch>& matches,
              Stream& stream) CV_OVERRIDE;
    void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map, int depth,
                  Stream& stream) CV_OVERRIDE;
    void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer, std::vector<int>& offsets, int depth,
                   Stream& stream) CV_OVERRIDE;
    void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas, Stream& stream) CV_OVERRIDE;

    int getFragmentCount() const CV_OVERRIDE { return static_cast<int>(fragments_.size()); }
    Size getFragmentSize(int index) const CV_OVERRIDE;
    size_t workspaceBytes() const CV_OVERRIDE;
    bool empty() const CV_OVERRIDE { return fragments_.empty(); }
    void write(FileStorage& fs) const CV_OVERRIDE;
    void read(const FileNode& fn) CV_OVERRIDE;

private:
    void replaceAll(std::vector<Fragment>&& fragments, Stream& stream);
    void checkOne(const Fragment& fragment) const;
    void checkIndex(int index) const;
    void checkFrame(InputArray frame) const;
    void checkDepth(int depth, const Fragment& fragment) const;
    bool anyWeighted() const;
    std::vector<HostFragment> hostFragments() const;

    void matchOnCpu(InputArray frame, InputArray searchAreas, const Outputs& out) const;
    void matchOnDevice(InputArray frame, InputArray searchAreas, const Outputs& out, Stream& stream);

#ifdef HAVE_CUDA
    void addToEngine(Fragment& fragment, int index, Stream& stream);
    CudaEngine& engine(Stream& stream);
    std::unique_ptr<CudaEngine> engine_;
    bool engineHasFragments_ = false;
#endif

    Params params_;
    std::vector<Fragment> fragments_; //!< all of one type, all on one side
    Mat predictions_;
    GpuMat devicePredictions_;
    GpuMat spare_[5]; //!< results of CUDA calls on their way to outputs on the host
};

[[noreturn]] inline void noCuda()
{
    CV_Error(Error::GpuNotSupported, "a GpuMat was given, but this OpenCV was built without CUDA");
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP
