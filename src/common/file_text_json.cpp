// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// JSON as FileStorage reads it: also with comments of both kinds.
//
// Refused although FileStorage takes it: strings that begin with $base64$, on which it may never return; backslashes in
// names, where it may read beyond the end; repeated commas, and one after the last element; anything after the end.
#include "text_cursor.hpp"

namespace cv { namespace cuda { namespace detail {

namespace {

class JsonCheck
{
public:
    explicit JsonCheck(TextCursor& at) : at_(at) {}

    void all()
    {
        if (at_.peek() != '{')
            at_.fail("JSON must begin with {");
        value();
        space();
        if (!at_.ended())
            at_.fail("there is something after the end of the first object");
    }

private:
    void space()
    {
        for (;;)
        {
            at_.run([](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
            if (at_.take("//"))
                at_.run([](char c) { return c != '\n'; });
            else if (at_.take("/*"))
                at_.skipPast("*/", "a comment has no end");
            else
                return;
        }
    }

    void value()
    {
        space();
        const char c = at_.peek();
        if (c == '{' || c == '[')
            collection(c == '{');
        else if (c == '"')
            string();
        else if (at_.run([](char s) { return isTextLetter(s) || isTextDigit(s) || s == '+' || s == '-' || s == '.'; })
                     .empty())
            at_.fail("a value is needed here");
    }

    void collection(bool map)
    {
        at_.enter();
        at_.skip(1);
        const char* const end = map ? "}" : "]";
        space();
        for (bool first = true; !at_.take(end); first = false)
        {
            if (!first)
                at_.require(",", map ? "a , or } is needed here" : "a , or ] is needed here");
            space();
            if (map)
                name();
            value();
            space();
        }
        at_.leave();
    }

    void name()
    {
        at_.require("\"", "a name in quotes is needed here");
        const std::string_view text = at_.run([](char c) { return isTextPrintable(c) && c != '"' && c != '\\'; });
        if (at_.peek() == '\\')
            at_.fail("a name has a backslash");
        if (text.empty())
            at_.fail("a name is empty");
        at_.require("\"", "a name has no end in its line");
        at_.note(text);
        space();
        at_.require(":", "a : is needed after a name");
    }

    void string()
    {
        at_.skip(1);
        if (at_.follows("$base64$"))
            at_.fail("no binary data ($base64$) is read");
        for (;;)
        {
            at_.run([](char c) { return c != '"' && c != '\\' && c != '\n'; });
            if (at_.take("\""))
                return;
            if (at_.peek() != '\\')
                at_.fail("a string has no end in its line");
            const char escaped = at_.peek(1);
            if (escaped == '\0' || std::string_view("\\\"'nrtbf").find(escaped) == std::string_view::npos)
                at_.fail("a string has an escape that cannot be read");
            at_.skip(2);
        }
    }

    TextCursor& at_;
};

} // namespace

void checkJson(TextCursor& at) { JsonCheck(at).all(); }

}}} // namespace cv::cuda::detail
