// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// From what users give to what engines take, with all checks; and what the three classes have in common.
#ifndef OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"
#include <array>

namespace cv { namespace cuda { namespace tld {

//! @throws cv::Exception naming the class and the member that is out of range.
Settings settingsOf(const TLDParams& params, const char* owner);

//! An image of a call, which owns what its view looks at.
struct InputImage
{
    Mat host;
    GpuMat device;
    bool onDevice;

    InputImage(const char* owner, InputArray image);
    Size size() const { return onDevice ? device.size() : host.size(); }
    int type() const { return onDevice ? device.type() : host.type(); }
    ImageView view() const { return onDevice ? detail::viewOf(device) : detail::viewOf(host); }
};

Window windowOf(const Rect& box);
//! The nearest box of whole pixels. @throws cv::Exception naming the class when there is none.
Rect rounded(const char* owner, const Rect2d& box);

struct Saved;        //!< model.hpp
struct SavedSeveral; //!< the same

/** The objects of one instance: an engine on the side of the first image, and what all images have to be like. */
class Objects
{
public:
    //! @param owner the class, for messages.
    Objects(const char* owner, const TLDParams& params)
        : owner_(owner), params_(params), settings_(settingsOf(params, owner))
    {}

    const TLDParams& params() const { return params_; }
    const Settings& settings() const { return settings_; }
    bool empty() const { return !engine_ || engine_->objects() == 0; }

    //! Whether there is an object for one more image, and the image is as those before. @param what the method.
    void check(const InputImage& input, const char* what) const;
    void checkBox(const Rect& box, Size image) const;
    //! For an image that was checked, and that decides backend and type.
    Engine& engineFor(const InputImage& input, const Stream& stream);
    detail::StreamHandle handleOf(const Stream& stream) const { return device_ ? detail::handleOf(stream) : nullptr; }

    //! Learns an object. With `only`, it takes the place of all others, and the image may be of any size and kind.
    void learn(InputArray image, const Rect& box, uint32_t number, bool only, Stream& stream);
    //! Objects from a file take the place of all others.
    void take(const Saved& saved);
    void take(const SavedSeveral& saved);
    //! All that others are; what graphs refer to stays.
    void become(Objects&& others);
    //! One more object from a file. @param input as in learn().
    void add(const Saved& saved, const InputImage& input, Stream& stream);
    void remove(int index) { engine_->remove(index); }
    void reset(int index, const Rect& box);
    //! Gives all memory back, but what graphs refer to.
    void clear();

    bool learning() const { return settings_.learning != 0; }
    void setLearning(bool learning);

    std::array<double, RESULT_COLUMNS> result(int index) const;
    void detections(int index, OutputArray objects) const;
    void templates(int index, bool positive, OutputArray images) const;
    size_t workspaceBytes() const;
    //! @param tracking also where it is, and the images from which it is tracked on.
    Saved saved(int index, bool tracking) const;
    //! All objects. @param next id of the next one.
    SavedSeveral savedSeveral(int next) const;

private:
    //! The engine; throws without objects.
    Engine& engine(const char* what) const;
    void checkLike(const InputImage& input) const;
    std::unique_ptr<Engine> makeEngine(bool device) const;
    //! Moves objects that were read from a file to the backend of the image.
    void bringTo(const InputImage& input, const Stream& stream);
    void settle(const InputImage& input);
    void takeAll(const std::vector<const Learned*>& objects, const History& history);
    //! @param engine null: none.
    void replaceEngine(std::unique_ptr<Engine> engine);
    [[noreturn]] void refuseOtherImage() const;

    const char* owner_;
    TLDParams params_;
    Settings settings_;
    GraphTokens tokens_ = std::make_shared<GraphTokens::element_type>();
    std::unique_ptr<Engine> engine_;
    std::vector<std::unique_ptr<Engine>> former_; //!< those that graphs refer to
    bool device_ = false;
    bool settled_ = false; //!< an image has decided side and type; else objects were read from a file
    bool framed_ = false;  //!< there is a last frame
    Size size_;
    int type_ = 0;
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
