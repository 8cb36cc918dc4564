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
    const Ptr<cuda::QuickShift> shift = cuda::QuickShift::create(2.5);
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

void read(const Reader& reader, const std::string& text) { reader.load(TemporaryFile(".xml", text)); }

bool isNumber(char c) { return c >= '0' && c <= '9'; }

bool isNamePart(char c) { return c == '_' || c == '-' || std::isalnum(static_cast<unsigned char>(c)); }

//! Returns texts by a name: each has the first value of this name twice in its map.
std::map<std::string, std::string> withNamesTwice(const std::string& text)
{
    std::map<std::string, std::string> all;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1)
    {
        for (end = begin; end < text.size() && isNamePart(text[end]);)
            ++end;
        const std::string name = text.substr(begin, end - begin);
        if (name.empty() || name == "_" || name == "opencv_storage" || begin < 2 || text[begin - 1] != '<')
            continue;
        all.insert({name, std::string(text).insert(begin - 1, "<" + name + ">0</" + name + ">")});
    }
    return all;
}

TEST(Common_FileTexts, namesThatStandTwice)
{
    for (const Reader& reader : readers())
    {
        SCOPED_TRACE(reader.name);
        const std::string text = reader.text(".xml");
        EXPECT_NO_THROW(read(reader, text));
        const std::map<std::string, std::string> texts = withNamesTwice(text);
        EXPECT_GE(texts.size(), 8u);
        for (const auto& twice : texts)
            expectRefused([&] { read(reader, twice.second); }, {"the name " + twice.first + " stands twice"});
    }
}

TEST(Common_FileTexts, zerosBehindTheEnd)
{
    for (const Reader& reader : readers())
        for (const size_t count : {1, 2, 10})
        {
            SCOPED_TRACE(reader.name);
            const std::string text = reader.text(".xml") + std::string(count, '\0');
            if (count == 1 && reader.name == std::string("CascadeClassifierEx::loadBuffer"))
                EXPECT_NO_THROW(read(reader, text)); // a C string
            else
                expectRefused([&] { read(reader, text); }, {"has the byte 0x00"});
        }
}

TEST(Common_FileTexts, otherFormats)
{
    for (const Reader& reader : readers())
        for (const char* const format : {".yml", ".json"})
        {
            SCOPED_TRACE(reader.name);
            expectRefused([&] { read(reader, reader.text(format)); }, {"is YAML or JSON; only XML is read"});
        }
}

//! As some locales write numbers: the message names the line.
TEST(Common_FileTexts, decimalComma)
{
    for (const Reader& reader : readers())
    {
        SCOPED_TRACE(reader.name);
        std::string text = reader.text(".xml");
        size_t at;
        for (at = text.find('.', text.find("<opencv_storage>")); !isNumber(text[at + 1]) || !isNumber(text[at - 1]);)
            at = text.find('.', at + 1);
        text[at] = ',';
        const auto line = std::count(text.begin(), text.begin() + at, '\n') + 1;
        expectRefused([&] { read(reader, text); }, {cv::format("line %d: ", int(line)), "must be a point"});
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
            EXPECT_NO_THROW(read(reader, with(encoding))) << encoding;
        for (const char* const encoding : {"UTF-16", "utf-16le", "UTF-32", "UCS-2", "IBM037", "UTF-7", ""})
            expectRefused([&] { read(reader, with(encoding)); }, {"encoding=\"" + std::string(encoding) + "\""});
    }
}

}} // namespace opencv_test
