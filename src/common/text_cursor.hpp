// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Position in an untrusted text, for the check of XML. Free of OpenCV.
#ifndef OPENCV_CUDATRACKING_COMMON_TEXT_CURSOR_HPP
#define OPENCV_CUDATRACKING_COMMON_TEXT_CURSOR_HPP

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cv { namespace cuda { namespace detail {

//! Thrown by the check: the line, from 1, and what is wrong with it.
struct TextFault
{
    size_t line;
    std::string why;
};

const size_t MAX_TEXT_NESTING = 100;
const size_t MAX_TEXT_NAMES = 1000; //!< different ones: FileStorage keeps each

inline bool isTextDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isTextLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
//! True for all bytes from the space on, as in FileStorage: line ends and tabs are none.
inline bool isTextPrintable(char c) { return static_cast<unsigned char>(c) >= ' '; }

class TextCursor
{
public:
    explicit TextCursor(std::string_view text) : text_(text) {}

    [[noreturn]] void fail(const std::string& why) const
    {
        throw TextFault{static_cast<size_t>(std::count(text_.begin(), text_.begin() + at_, '\n')) + 1, why};
    }

    bool ended() const { return at_ == text_.size(); }
    //! Returns the byte at the position or `ahead` bytes further; 0 beyond the end.
    char peek(size_t ahead = 0) const { return ahead < text_.size() - at_ ? text_[at_ + ahead] : '\0'; }
    bool follows(std::string_view word) const { return text_.compare(at_, word.size(), word) == 0; }

    void skip(size_t count) { at_ += std::min(count, text_.size() - at_); }
    //! Skips a word if it is here. @return whether it was.
    bool take(std::string_view word)
    {
        const bool here = follows(word);
        at_ += here ? word.size() : 0;
        return here;
    }
    void require(std::string_view word, const char* why)
    {
        if (!take(word))
            fail(why);
    }
    //! Skips all up to a word and the word.
    void skipPast(std::string_view word, const char* why)
    {
        const size_t found = text_.find(word, at_);
        if (found == std::string_view::npos)
            fail(why);
        at_ = found + word.size();
    }
    //! Takes bytes while they belong to a class of characters.
    template <typename Kind> std::string_view run(const Kind& kind)
    {
        const size_t begin = at_;
        while (at_ < text_.size() && kind(text_[at_]))
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    //! FileStorage's parser calls itself for each level.
    void enter()
    {
        levels_.emplace_back();
        if (levels_.size() > MAX_TEXT_NESTING + 1)
            fail("is nested deeper than " + std::to_string(MAX_TEXT_NESTING) + " levels");
    }
    void leave() { levels_.pop_back(); }
    //! Notes a name in the map of this level; FileStorage will keep it. Trees: names can be made to collide in any
    //! hash.
    void note(std::string_view name)
    {
        if (!levels_.back().insert(name).second)
            fail("the name " + std::string(name.substr(0, 40)) +
                 " stands twice in a map"); // readers differ in which one counts
        names_.insert(name);
        if (names_.size() > MAX_TEXT_NAMES)
            fail("has more than " + std::to_string(MAX_TEXT_NAMES) + " different names");
    }

private:
    std::string_view text_;
    size_t at_ = 0;
    std::set<std::string_view> names_;
    std::vector<std::set<std::string_view>> levels_ = {{}}; //!< names of each map that is open
};

/** Checks that FileStorage's parser survives a text: that its structure is what XML allows, with limits on nesting and
names, and without what no file of ours needs. It reads structure as that parser does, so that nothing can hide from it.
@throws TextFault */
void checkXml(TextCursor& at);

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_TEXT_CURSOR_HPP
