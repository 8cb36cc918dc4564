// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Files that other programs read differently, or not at all, are refused by all that reads files.
#include "../cascade/generate.hpp"
#include "../tld/scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

//! Something that reads files, and the text of one that it takes.
struct Reader
{
    const char* name;
    std::function<std::string(const std::string& format)> text;
    std::function<void(const std::string& file)> load;
};

std::vector<Reader> readers()
{
    const tld::StandardScene scene(CV_8UC1, Size(24, 24));
    const cuda::TLDParams params = tld::paramsOf("trees 2, features 3");
    const Ptr<tld::TrackerTLD> tracker = tld::trackerOn(scene, tld::Engine::CPU, params);
    const Ptr<tld::TLDDetector> detector = tld::TLDDetector::create(params);
    const Ptr<tld::MultiTrackerTLD> several = tld::MultiTrackerTLD::create(params);
    detector->init(scene.frame(0), scene.box(0));
    several->add(scene.frame(0), scene.box(0));
    const Ptr<cuda::QuickShift> shift = cuda::QuickShift::create();
    const OracleCascade cascade = CascadeGenerator(7, randomImage(20261125, Size(97, 83), CV_8UC1, 5)).make();
    const auto cascadeIn = [cascade](const std::string& format) { return cascadeText(cascade, format); };
    const auto textIn = [](const auto& object)
    { return [object](const std::string& format) { return tld::textOf(*object, format); }; };
    const Mat frame = scene.frame(0);
    const auto addFromFile = [frame, params](const std::string& file)
    { tld::MultiTrackerTLD::create(params)->addFromFile(frame, file); };
    const auto buffer = [](const std::string& file)
    { cuda::CascadeClassifierEx::create()->loadBuffer(asRow(contentOf(file))); };
    const auto convert = [](const std::string& file)
    { cuda::CascadeClassifierEx::convert(file, TemporaryFile(".xml")); };
    return {
        {"CascadeClassifierEx::create", cascadeIn, [](const std::string& f) { cuda::CascadeClassifierEx::create(f); }},
        {"CascadeClassifierEx::load", cascadeIn,
         [](const std::string& f) { cuda::CascadeClassifierEx::create()->load(f); }},
        {"CascadeClassifierEx::loadBuffer", cascadeIn, buffer},
        {"CascadeClassifierEx::convert", cascadeIn, convert},
        {"QuickShift", textIn(shift), [](const std::string& f) { cuda::QuickShift::load(f); }},
        {"TrackerTLD", textIn(tracker), [](const std::string& f) { tld::TrackerTLD::create()->load(f); }},
        {"TLDDetector", textIn(detector), [](const std::string& f) { tld::TLDDetector::create()->load(f); }},
        {"MultiTrackerTLD", textIn(several), [](const std::string& f) { tld::MultiTrackerTLD::create()->load(f); }},
        {"MultiTrackerTLD::addFromFile", textIn(tracker), addFromFile}};
}

void read(const Reader& reader, const std::string& format, const std::string& text)
{
    reader.load(TemporaryFile(format, text));
}

bool isNamePart(char c) { return c == '_' || c == '-' || std::isalnum(static_cast<unsigned char>(c)); }

/** Returns texts by a name: each has the first value of this name twice in its map.
XML: <a>..; YAML: a line that begins with a:, or a: in brackets; JSON: "a": */
std::map<std::string, std::string> withNamesTwice(const std::string& text, const std::string& format)
{
    std::map<std::string, std::string> all;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1)
    {
        for (end = begin; end < text.size() && isNamePart(text[end]);)
            ++end;
        const std::string name = text.substr(begin, end - begin);
        if (name.empty() || name == "_" || begin < 2 || !std::isalpha(static_cast<unsigned char>(name[0])))
            continue;
        const char before = text[begin - 1], after = text[end];
        const size_t line = text.rfind('\n', begin) + 1;
        const std::string indent = text.substr(line, begin - line);
        const auto insert = [&](size_t at, const std::string& more) {
            all.insert({name, std::string(text).insert(at, more)});
        };
        if (format == ".xml" && before == '<' && name != "opencv_storage")
            insert(begin - 1, "<" + name + ">0</" + name + ">");
        else if (format == ".json" && before == '"' && after == '"' && text[end + 1] == ':')
            insert(begin - 1, "\"" + name + "\": 0, ");
        else if (format == ".yml" && after == ':' && indent.find_first_not_of(' ') == std::string::npos)
            insert(line, indent + name + ": 0\n");
        else if (format == ".yml" && after == ':' &&
                 (before == '{' || text.compare(begin - 2, 2, ", ") == 0 || text.compare(begin - 2, 2, "{ ") == 0))
            insert(begin, name + ":0, ");
    }
    return all;
}

TEST(Common_FileTexts, namesThatStandTwice)
{
    for (const Reader& reader : readers())
        for (const std::string format : {".xml", ".yml", ".json"})
        {
            SCOPED_TRACE(reader.name + format);
            const std::string text = reader.text(format);
            EXPECT_NO_THROW(read(reader, format, text));
            const std::map<std::string, std::string> texts = withNamesTwice(text, format);
            EXPECT_GE(texts.size(), 8u);
            for (const auto& twice : texts)
                expectRefused([&] { read(reader, format, twice.second); },
                              {"the name " + twice.first + " stands twice"});
        }
}

TEST(Common_FileTexts, zerosBehindTheEnd)
{
    for (const Reader& reader : readers())
        for (const std::string format : {".xml", ".yml", ".json"})
            for (const size_t count : {1, 2, 10})
            {
                SCOPED_TRACE(reader.name + format);
                const std::string text = reader.text(format) + std::string(count, '\0');
                if (count == 1 && reader.name == std::string("CascadeClassifierEx::loadBuffer"))
                    EXPECT_NO_THROW(read(reader, format, text)); // a C string
                else
                    expectRefused([&] { read(reader, format, text); }, {"has the byte 0x00"});
            }
}

TEST(Common_FileTexts, commaBehindTheLastElement)
{
    for (const Reader& reader : readers())
        for (const char end : {'}', ']'})
        {
            SCOPED_TRACE(reader.name);
            std::string text = reader.text(".json");
            const size_t at = text.rfind(end);
            if (at != std::string::npos) // there is a list
                expectRefused([&] { read(reader, ".json", text.insert(at, ",")); }, {"needed here"});
        }
}

TEST(Common_FileTexts, encodingsThatTheTextHasNot)
{
    for (const Reader& reader : readers())
    {
        SCOPED_TRACE(reader.name);
        const std::string text = reader.text(".xml"), head = "<?xml version=\"1.0\"";
        ASSERT_EQ(0u, text.find(head));
        const auto with = [&](const std::string& encoding)
        { return head + " encoding=\"" + encoding + "\"" + text.substr(head.size()); };
        for (const char* const encoding :
             {"UTF-8", "utf-8", "US-ASCII", "ISO-8859-1", "windows-1252", "latin1", "cp1252", "KOI8-R", "utf8"})
            EXPECT_NO_THROW(read(reader, ".xml", with(encoding))) << encoding;
        for (const char* const encoding : {"UTF-16", "utf-16le", "UTF-32", "UCS-2", "IBM037", "UTF-7", ""})
            expectRefused([&] { read(reader, ".xml", with(encoding)); },
                          {"encoding=\"" + std::string(encoding) + "\""});
    }
}

}} // namespace opencv_test
