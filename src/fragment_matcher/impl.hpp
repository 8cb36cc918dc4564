// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// The class behind cv::cuda::FragmentMatcher. Fragments and parameters are in fragment_matcher.cpp, the rest is in
// matching.cpp.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP

#include "../common/file_write.hpp"
#include "../common/lockable.hpp"
#include "arguments.hpp"

#include <algorithm>
#include <memory>

namespace cv { namespace cuda { namespace fragment_matcher {

class FragmentMatcherImpl final : public FragmentMatcher, public detail::Lockable<FragmentMatcherImpl>
{
public:
    explicit FragmentMatcherImpl(const Params& params) : params_(params), cpu_(makeCpuEngine()) {}

    void setParams(const Params& params) override;
    Params getParams() const override { return locked()->params_; }

    void setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights, Stream& stream) override;
    void cutFragments(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights,
                      Stream& stream) override;
    int addFragment(InputArray templ, InputArray weights, Stream& stream) override;
    void updateFragment(int index, InputArray templ, InputArray weights, Stream& stream) override;
    void removeFragment(int index) override;
    void clear() override;

    void setPredictions(InputArray locations) override;
    void match(InputArray frame, InputArray searchAreas, OutputArray locations, OutputArray scores,
               OutputArray confidence, OutputArray status, OutputArray refined, Stream& stream) override;
    void find(InputArray frame, InputArray searchAreas, std::vector<FragmentMatch>& matches, Stream& stream) override;
    void scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map, int depth,
                  Stream& stream) override;
    void scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer, std::vector<int>& offsets, int depth,
                   Stream& stream) override;
    void predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas, Stream& stream) override;

    int getFragmentCount() const override { return locked()->fragments_.count(); }
    Size getFragmentSize(int index) const override;
    size_t workspaceBytes() const override;
    bool empty() const override { return locked()->fragments_.list.empty(); }
    void save(const String& filename) const override { detail::saveAlgorithm(*locked(), filename); }
    void write(FileStorage& fs) const override;
    void read(const FileNode& fn) override;

private:
    //! A frame in host or device memory, and the engine that searches it.
    struct Frame : detail::Array
    {
        ByteImageView view;
        Engine* engine;
        StreamHandle stream; //!< null for a frame in host memory

        detail::ResultsPlace place() const { return {onDevice, stream}; }
    };

    void replaceAll(std::vector<Fragment>&& list, Stream& stream);
    template <class Undo> void synchronize(const Undo& undo, Stream& stream);
    void assignId(Fragment& fragment);
    void checkJoins(const Fragment& fragment) const;
    void checkIndex(int index) const;
    void checkDepth(int depth, const Fragment& fragment) const;
    bool isEmpty(InputArray frame) const;
    Frame open(InputArray frame, Stream& stream);
    SearchAreas areasOf(InputArray searchAreas, const Frame& frame, std::vector<Rect4>& memory) const;
    ConstRowsView<Position> predictionsOf(const Frame& frame) const;
    fragment_matcher::Metric metric() const { return static_cast<fragment_matcher::Metric>(params_.metric); }
    Engine& cuda();

    //! What the last predictAreas() wrote to device memory.
    struct Predicted
    {
        const void* data;
        int rows;
        Size largest; //!< no area is larger
    };

    Params params_;
    Fragments fragments_; //!< all of one type, all in host memory or all in device memory
    uint64_t lastId_ = 0, lastVersion_ = 0;
    detail::Array predictions_;
    Predicted predicted_ = {nullptr, 0, Size()};
    std::unique_ptr<Engine> cpu_;
    std::unique_ptr<Engine> cuda_; //!< made at the first GpuMat
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_IMPL_HPP
