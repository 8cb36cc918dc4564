// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Whatever FileStorage and file_text_xml.cpp could read in another way, or refuse, is not plain: quotes, entities,
// numbers that do not begin with a digit or have a leading zero, comments inside of elements with values, attributes
// other than type_id="opencv-...", names that stand twice in a map, deep nesting, carriage returns that end no line.
#include "plain_xml.hpp"
#include <charconv>
#include <cstring>

namespace cv { namespace cuda { namespace detail {

PlainNode PlainNode::operator[](const char* name) const
{
    for (Iterator child = begin(), last = end(); isMap() && child != last; ++child)
        if (tree_->names[(*child).record().name] == name)
            return *child;
    return PlainNode();
}

#if defined(__cpp_lib_to_chars)

namespace {

const size_t MOST_OPEN = 16;          //!< levels
const size_t MOST_NAMES = 64;         //!< different names: a bit each
const size_t MOST_RECORDS = 1u << 20; //!< nodes
const size_t MOST_BYTES = 0x7fffffff; //!< of a text
const size_t MOST_DIGITS = 10;        //!< before a point
const int64_t MOST_INTEGER = 0x7fffffff;
const size_t MOST_WORD = 100; //!< bytes of a word
const char* const HEADER = "<?xml version=\"1.0\"?>";
const char* const TYPE = " type_id=\"opencv-";

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '-'; }

//! Takes one part of the text after the other. Each method returns false when the part is not there, or not plain.
class Reader
{
public:
    explicit Reader(PlainNode::Tree& tree)
        : tree_(tree), at_(tree.text.data()), end_(tree.text.data() + tree.text.size())
    {}

    bool read()
    {
        if (!take(HEADER) || !skipComments() || !take("<opencv_storage>"))
            return false;
        open(0); // the name of the root element is not used
        while (openCount_ > 0)
            if (!next())
                return false;
        return skipComments() && at_ == end_;
    }

private:
    //! An element that is open.
    struct Open
    {
        uint32_t record;
        uint64_t names;        //!< bit by bit, those of the children so far
        bool elements, values; //!< what it has
    };

    bool take(std::string_view word)
    {
        if (static_cast<size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0)
            return false;
        at_ += word.size();
        return true;
    }
    //! True at white space. A carriage return counts before the end of its line only.
    bool atSpace() const { return at_ < end_ && (isSpace(*at_) || (*at_ == '\r' && at_ + 1 < end_ && at_[1] == '\n')); }
    void skipSpaces()
    {
        while (atSpace())
            ++at_;
    }
    bool skipComments()
    {
        for (skipSpaces(); take("<!--"); skipSpaces())
        {
            while (at_ < end_ && !(*at_ == '-' && take("-->")))
            {
                if (static_cast<unsigned char>(*at_) < ' ' && !atSpace())
                    return false;
                ++at_;
            }
            if (at_ == end_)
                return false;
        }
        return true;
    }
    //! Takes a name: its index in the list of names.
    bool takeName(uint8_t& index)
    {
        const char* const first = at_;
        if (at_ == end_ || !(isLetter(*at_) || *at_ == '_'))
            return false;
        while (at_ < end_ && isNamePart(*at_))
            ++at_;
        const std::string_view name(first, at_ - first);
        for (size_t i = 0; i < tree_.names.size(); ++i)
            if (tree_.names[i] == name)
            {
                index = static_cast<uint8_t>(i);
                return true;
            }
        if (tree_.names.size() == MOST_NAMES)
            return false;
        index = static_cast<uint8_t>(tree_.names.size());
        tree_.names.push_back(name);
        return true;
    }

    void open(uint8_t name)
    {
        open_[openCount_++] = {static_cast<uint32_t>(tree_.records.size()), 0, false, false};
        tree_.records.push_back({0., 0, 0, 0, 0, name, PlainNode::LIST});
    }
    //! Takes what follows in the element that is open: its end, a child or a value.
    bool next()
    {
        Open& top = open_[openCount_ - 1];
        const char* const before = at_;
        skipSpaces();
        const bool apart = at_ != before;
        if (at_ == end_ || tree_.records.size() >= MOST_RECORDS)
            return false;
        if (*at_ != '<')
            return !top.elements && (apart || !top.values) && takeValue(top);
        if (take("</"))
            return close();
        if (top.values)
            return false;
        return take("<!--") ? (at_ -= 4, skipComments()) : (++at_, takeElement(top));
    }
    bool takeElement(Open& parent)
    {
        uint8_t name;
        if (openCount_ == MOST_OPEN || !takeName(name))
            return false;
        const bool listed = tree_.names[name] == "_";
        PlainNode::Record& record = tree_.records[parent.record];
        const PlainNode::Kind kind = listed ? PlainNode::LIST : PlainNode::MAP;
        const uint64_t bit = listed ? 0 : uint64_t(1) << name;
        if ((parent.elements && record.kind != kind) || (parent.names & bit))
            return false;
        record.kind = kind;
        ++record.count;
        parent.names |= bit;
        parent.elements = true;
        if (take(TYPE))
        {
            while (at_ < end_ && isNamePart(*at_))
                ++at_;
            if (!take("\""))
                return false;
        }
        open(name);
        return take(">");
    }
    bool close()
    {
        const Open top = open_[openCount_ - 1];
        PlainNode::Record& record = tree_.records[top.record];
        const std::string_view name = openCount_ == 1 ? "opencv_storage" : tree_.names[record.name];
        if (!take(name) || !take(">") || (!top.elements && !top.values) ||
            (openCount_ == 1 && record.kind != PlainNode::MAP))
            return false;
        if (top.values && record.count == 1) // one value is no list
        {
            const uint8_t index = record.name;
            record = tree_.records.back();
            record.name = index;
            tree_.records.pop_back();
        }
        tree_.records[top.record].end = static_cast<uint32_t>(tree_.records.size());
        --openCount_;
        return true;
    }
    bool takeValue(Open& top)
    {
        const char* const first = at_;
        PlainNode::Record record = {0., 0, 0, static_cast<uint32_t>(tree_.records.size()) + 1, 0, 0, PlainNode::NUMBER};
        if (isLetter(*at_))
        {
            while (at_ < end_ && (isLetter(*at_) || isDigit(*at_) || *at_ == '_'))
                ++at_;
            record.kind = PlainNode::WORD;
            record.word = static_cast<uint32_t>(first - tree_.text.data());
            record.wordSize = static_cast<uint32_t>(at_ - first);
            if (record.wordSize > MOST_WORD)
                return false;
        }
        else if (!takeNumber(record.number))
            return false;
        if (at_ == end_ || !(atSpace() || *at_ == '<'))
            return false;
        tree_.records.push_back(record);
        ++tree_.records[top.record].count;
        top.values = true;
        return true;
    }
    bool takeNumber(double& number)
    {
        const char* const first = at_;
        at_ += *at_ == '-' ? 1 : 0;
        const char* const digits = at_;
        int64_t integer = 0;
        while (at_ < end_ && isDigit(*at_) && static_cast<size_t>(at_ - digits) <= MOST_DIGITS)
            integer = 10 * integer + (*at_++ - '0');
        const size_t count = at_ - digits;
        if (at_ == end_ || count == 0 || count > MOST_DIGITS)
            return false;
        if (*at_ != '.' && *at_ != 'e')
        {
            number = static_cast<double>(*first == '-' ? -integer : integer);
            return integer <= MOST_INTEGER && (count == 1 || *digits != '0'); // 010 is octal to FileStorage
        }
        const char* last = at_;
        while (last < end_ && (isDigit(*last) || *last == '.' || *last == 'e' || *last == '-' || *last == '+'))
            ++last;
        const std::from_chars_result result = std::from_chars(first, last, number);
        at_ = last;
        return result.ec == std::errc() && result.ptr == last;
    }

    PlainNode::Tree& tree_;
    const char* at_;
    const char* const end_;
    Open open_[MOST_OPEN] = {};
    size_t openCount_ = 0;
};

} // namespace

bool PlainXml::read(std::string_view text)
{
    tree_ = PlainNode::Tree();
    tree_.text = text;
    const bool plain = text.size() <= MOST_BYTES && Reader(tree_).read();
    if (!plain)
        tree_ = PlainNode::Tree(); // FileStorage needs memory, too
    return plain;
}

#else

// The C library's functions depend on the locale.
bool PlainXml::read(std::string_view) { return false; }

#endif

}}} // namespace cv::cuda::detail
