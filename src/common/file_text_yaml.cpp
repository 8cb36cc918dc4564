// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// YAML as FileStorage reads it: lists and maps by indentation, several of which may begin in one line ("- - a: b: 1"
// nests four), lists and maps in brackets, comments. A column is counted from the begin of the line.
//
// Refused although FileStorage takes it: types other than !!opencv-..., among them !!binary, on which it may never
// return; a second document, before which it may wait for ever, too; escapes other than of quotes, backslashes and
// white space; a name without a value at the end.
#include "text_cursor.hpp"

namespace cv { namespace cuda { namespace detail {

namespace {

class YamlCheck
{
public:
    explicit YamlCheck(TextCursor& at) : at_(at) {}

    void all()
    {
        if (!at_.follows("%YAML:1.") && !at_.follows("%YAML 1."))
            at_.fail("YAML must begin with %YAML:1. or %YAML 1.");
        while (space(), at_.peek() == '%')
            restOfLine();
        at_.take("---");
        space();
        value(0, false);
        space();
        if (at_.take("..."))
            space();
        if (!at_.ended())
            at_.fail("there is something after the end of the first document");
    }

private:
    size_t column() const { return at_.position() - lineBegin_; }

    std::string_view restOfLine()
    {
        return at_.run([](char c) { return c != '\n'; });
    }

    //! To the next token.
    void space()
    {
        for (;;)
        {
            at_.run([](char c) { return c == ' '; });
            if (at_.peek() == '#')
                restOfLine();
            at_.take("\r");
            if (at_.peek() == '\t')
                at_.fail("a tab cannot stand here");
            if (!at_.take("\n"))
                return;
            lineBegin_ = at_.position();
        }
    }

    //! @param least column of the value's first line.
    void value(size_t least, bool inBrackets)
    {
        if (at_.peek() == '!')
            type();
        if (at_.ended())
            at_.fail("a value is missing");
        if (!inBrackets && column() < least)
            at_.fail("a value is missing, or stands too far to the left");
        const char c = at_.peek(), d = at_.peek(1);
        if (isTextDigit(c) || ((c == '-' || c == '+') && (isTextDigit(d) || d == '.')) ||
            (c == '.' && (isTextDigit(d) || isTextLetter(d))))
            at_.run([](char s) { return isTextLetter(s) || isTextDigit(s) || s == '+' || s == '-' || s == '.'; });
        else if (c == '"' || c == '\'')
            string(c);
        else if (c == '[' || c == '{')
            brackets(c == '{');
        else if (inBrackets)
            plain();
        else if (c == '?' || c == '|' || c == '>')
            at_.fail("names and strings of several lines (?, | and >) cannot be read");
        else
            lines(c != '-');
    }

    void type()
    {
        const std::string_view name = at_.run([](char c) { return isTextPrintable(c) && c != ' '; });
        if (name.substr(0, 9) != "!!opencv-")
            at_.fail(std::string(name.substr(0, 20)) + ": only OpenCV's own types (!!opencv-...) are read" +
                     (name.find("binary") == std::string_view::npos ? "" : ", no binary data"));
        space();
    }

    void string(char quote)
    {
        at_.skip(1);
        for (;;)
        {
            at_.run([quote](char c) { return isTextPrintable(c) && c != quote && (c != '\\' || quote == '\''); });
            const char c = at_.peek(), d = at_.peek(1);
            if (c == quote && !(quote == '\'' && d == quote)) // '' stands for one of them
                break;
            if (!isTextPrintable(c))
                at_.fail("a string has no end in its line");
            if (c == '\\' && (d == '\0' || std::string_view("\\\"'nrt").find(d) == std::string_view::npos))
                at_.fail("a string has an escape that cannot be read");
            at_.skip(2);
        }
        at_.skip(1);
    }

    //! A string without quotes, in brackets.
    void plain()
    {
        if (at_.run([](char c) { return isTextPrintable(c) && c != ',' && c != '}' && c != ']'; }).empty())
            at_.fail("a value is missing");
    }

    void brackets(bool map)
    {
        at_.enter();
        at_.skip(1);
        const char* const end = map ? "}" : "]";
        for (bool first = true;; first = false)
        {
            space();
            if (at_.take(end))
                break;
            if (!first)
                at_.require(",", map ? "a , or } is needed here" : "a , or ] is needed here");
            space();
            if (map)
                name();
            space();
            value(0, true);
        }
        at_.leave();
    }

    void name()
    {
        if (at_.peek() == '-')
            at_.fail(at_.follows("---") ? "a second document cannot be read" : "a name begins with -");
        std::string_view text = at_.run([](char c) { return isTextPrintable(c) && c != ':'; });
        at_.require(":", "a : is needed after a name");
        if (text.empty())
            at_.fail("a name is empty");
        text.remove_suffix(text.size() - 1 - text.find_last_not_of(' '));
        at_.note(text);
    }

    //! A list or map by indentation, or a string without quotes up to the end of the line.
    void lines(bool map)
    {
        const auto beforeColon = [](char c) { return isTextPrintable(c) && c != ':'; };
        if (map && at_.peek(at_.ahead(beforeColon).size()) != ':')
        {
            at_.run(isTextPrintable);
            return;
        }
        at_.enter();
        const size_t indent = column();
        do
        {
            if (map)
                name();
            else
                at_.require("-", "an element of a list must begin with -");
            space();
            value(indent + 1, false);
            space();
            if (!at_.ended() && column() > indent)
                at_.fail("stands too far to the right, or behind a value");
        }
        while (!at_.ended() && column() == indent && !at_.follows("..."));
        at_.leave();
    }

    TextCursor& at_;
    size_t lineBegin_ = 0;
};

} // namespace

void checkYaml(TextCursor& at) { YamlCheck(at).all(); }

}}} // namespace cv::cuda::detail
