// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Reads plain XML: maps, lists, numbers and words. FileStorage reads the same values from it, in three times the time;
// it also reads everything that is not plain, and says what is wrong with a text.
#ifndef OPENCV_CUDATRACKING_COMMON_PLAIN_XML_HPP
#define OPENCV_CUDATRACKING_COMMON_PLAIN_XML_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cv { namespace cuda { namespace detail {

//! A node of PlainXml, which it refers to, with the methods of FileNode that ItemOf needs.
class PlainNode
{
public:
    enum Kind : uint8_t
    {
        NUMBER,
        WORD,
        LIST,
        MAP
    };

    //! A node. Its children follow it, each with all that is below it.
    struct Record
    {
        double number;     //!< NUMBER only
        uint32_t word;     //!< position of a word in the text
        uint32_t wordSize; //!< bytes of a word
        uint32_t end;      //!< index of the first record behind the children
        uint32_t count;    //!< children
        uint8_t name;      //!< index in Tree::names; of elements of lists not used
        Kind kind;
    };
    struct Tree
    {
        std::string_view text;
        std::vector<std::string_view> names;
        std::vector<Record> records;
    };

    //! Goes over the children.
    class Iterator
    {
    public:
        Iterator(const Tree* tree, uint32_t at) : tree_(tree), at_(at) {}
        PlainNode operator*() const { return PlainNode(tree_, at_); }
        Iterator& operator++()
        {
            at_ = tree_->records[at_].end;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at_ != other.at_; }

    private:
        const Tree* tree_;
        uint32_t at_;
    };

    PlainNode() = default; //!< no node
    PlainNode(const Tree* tree, uint32_t at) : tree_(tree), at_(at) {}

    bool empty() const { return !tree_; }
    bool isNone() const { return empty(); }
    bool isInt() const { return is(NUMBER); } //!< also true of numbers with a fraction
    bool isReal() const { return is(NUMBER); }
    bool isString() const { return is(WORD); }
    bool isSeq() const { return is(LIST); }
    bool isMap() const { return is(MAP); }
    size_t size() const { return record().count; }
    //! Returns a child of a map.
    PlainNode operator[](const char* name) const;
    explicit operator double() const { return record().number; }
    operator std::string() const { return std::string(tree_->text.substr(record().word, record().wordSize)); }
    Iterator begin() const { return Iterator(tree_, tree_ ? at_ + 1 : 0); }
    Iterator end() const { return Iterator(tree_, tree_ ? record().end : 0); }

private:
    const Record& record() const { return tree_->records[at_]; }
    bool is(Kind kind) const { return tree_ && record().kind == kind; }

    const Tree* tree_ = nullptr;
    uint32_t at_ = 0;
};

class PlainXml
{
public:
    /** Reads a text, which must outlive this. @return false: FileStorage must read it, because it is not plain XML or
    not valid. Where FileStorage cannot read it, this is false. */
    bool read(std::string_view text);
    //! Returns the first node below the root element.
    PlainNode first() const { return PlainNode(&tree_, 1); }

private:
    PlainNode::Tree tree_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_PLAIN_XML_HPP
