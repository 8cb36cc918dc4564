// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// XML as FileStorage reads it: a header, one root element, elements with attributes, text, comments between them. In
// text, '<' always begins markup, also inside of quotes; in attributes, quotes hide all but the end of the line.
//
// Refused although it is XML: empty elements, directives, CDATA and processing instructions (FileStorage has none of
// these), and a type_id other than opencv-... and "binary": with "str" and an empty element it reads a length nobody
// wrote. Decimal commas, with which it would read two numbers.
#include "text_cursor.hpp"
#include <algorithm>
#include <iterator>
#include <vector>

namespace cv { namespace cuda { namespace detail {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view takeName(TextCursor& at)
{
    if (!isTextLetter(at.peek()) && at.peek() != '_')
        at.fail("a name is needed after <");
    return at.run([](char c) { return isTextLetter(c) || isTextDigit(c) || c == '_' || c == '-'; });
}

//! FileStorage reads bytes whatever this says.
bool isBasedOnAscii(std::string encoding)
{
    for (char& c : encoding)
        c = isTextLetter(c) ? static_cast<char>(c | 0x20) : c; // lower case
    const std::string_view known[] = {"utf-8",    "utf8",  "ascii",       "us-ascii", "iso-8859-",
                                      "iso8859-", "latin", "windows-125", "cp125",    "koi8"};
    return std::any_of(std::begin(known), std::end(known),
                       [&](std::string_view word) { return encoding.compare(0, word.size(), word) == 0; });
}

//! @return whether it makes the element binary.
bool takeAttribute(TextCursor& at)
{
    const std::string_view name = takeName(at);
    at.run(isSpace);
    at.require("=", "an attribute has no =");
    at.run(isSpace);
    const char quote = at.peek();
    if (quote != '"' && quote != '\'')
        at.fail("an attribute's value must be in quotes");
    at.skip(1);
    const std::string value(at.run([quote](char c) { return c != quote && c != '\n'; }));
    if (at.peek() != quote)
        at.fail("an attribute's value has no end in its line");
    if (name == "encoding" && !isBasedOnAscii(value))
        at.fail("encoding=\"" + value.substr(0, 20) + "\": save the text as UTF-8, or in an encoding based on ASCII");
    const bool binary = name == "type_id" && value == "binary";
    if (name == "type_id" && !binary && value.compare(0, 7, "opencv-") != 0)
        at.fail("type_id=\"" + value.substr(0, 20) + "\": only OpenCV's own types (opencv-...) are read");
    at.skip(1);
    return binary;
}

//! @param end of the tag: > or ?> @return whether the element is binary.
bool takeAttributes(TextCursor& at, std::string_view end)
{
    for (bool binary = false;;)
    {
        const bool space = !at.run(isSpace).empty();
        if (at.take(end))
            return binary;
        if (at.follows("/>"))
            at.fail("empty elements such as <a/> cannot be read");
        if (!space)
            at.fail("a tag is broken");
        binary |= takeAttribute(at);
    }
}

/** Takes base64, and a header that says bytes or floats. With other types FileStorage may never return, and it takes all of a
line for base64. */
void takeBinary(TextCursor& at)
{
    const std::string rest = "gICAgICAgICAgICAgICAgICAgICAg"; // of 24 bytes, 1u or 1f and spaces
    at.run(isSpace);
    if (!at.take("MXU" + rest) && !at.take("MWY" + rest))
        at.fail("binary data must be those of a matrix of bytes or floats");
    const std::string_view rows = at.run(
        [](char c) { return isTextLetter(c) || isTextDigit(c) || c == '+' || c == '/' || c == '=' || isSpace(c); });
    const size_t last = rows.find_last_not_of(" \t");
    if (rows.find_first_not_of(" \t\r\n") == std::string_view::npos || rows[last] != '\n' || !at.follows("</"))
        at.fail("binary data must be lines of base64");
}

//! Takes text up to the next tag.
void takeText(TextCursor& at)
{
    for (char before = ' '; !at.ended() && at.peek() != '<'; at.skip(1))
    {
        const bool comma = at.peek() == ',' && isTextDigit(before);
        before = at.peek();
        if (comma && isTextDigit(at.peek(1)))
            at.fail("a number has a comma; the decimal separator must be a point");
    }
}

//! Skips white space and comments.
void skipComments(TextCursor& at)
{
    at.run(isSpace);
    while (at.take("<!--"))
    {
        at.skipPast("-->", "a comment has no end");
        at.run(isSpace);
    }
}

void takeOpeningTag(TextCursor& at, std::vector<std::string_view>& open)
{
    at.require("<", "an element is needed here");
    if (at.peek() == '!' || at.peek() == '?')
        at.fail("markup other than elements and comments (<! or <?) cannot be read");
    open.push_back(takeName(at));
    if (open.back() != "_") // an element of a list
        at.note(open.back());
    at.enter();
    if (takeAttributes(at, ">"))
        takeBinary(at);
}

void takeClosingTag(TextCursor& at, std::vector<std::string_view>& open)
{
    const std::string_view name = takeName(at);
    if (name != open.back())
        at.fail("</" + std::string(name.substr(0, 40)) + "> closes <" + std::string(open.back().substr(0, 40)) + ">");
    at.run(isSpace);
    at.require(">", "a closing tag is broken");
    open.pop_back();
    at.leave();
}

} // namespace

void checkXml(TextCursor& at)
{
    at.require("<?xml", "XML must begin with <?xml");
    takeAttributes(at, "?>");
    skipComments(at);
    std::vector<std::string_view> open;
    takeOpeningTag(at, open);
    while (!open.empty())
    {
        takeText(at);
        if (at.ended())
            at.fail("<" + std::string(open.back().substr(0, 40)) + "> has no end");
        if (at.take("<!--"))
            at.skipPast("-->", "a comment has no end");
        else if (at.take("</"))
            takeClosingTag(at, open);
        else
            takeOpeningTag(at, open);
    }
    skipComments(at);
    if (!at.ended())
        at.fail("there is something after the end of the first element");
}

}}} // namespace cv::cuda::detail
