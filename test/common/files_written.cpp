// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// save() of all classes: the whole file or nothing, and an exception that names the file.
#include "../cascade/generate.hpp"
#include "../tld/scenes.hpp"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#ifdef __unix__
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#endif

namespace opencv_test { namespace {

namespace fs = std::filesystem;

//! A folder of its own, gone in the end.
struct Folder
{
    Folder() : path(cv::tempfile("_folder")) { fs::create_directory(path); }
    ~Folder()
    {
        std::error_code ignored; // destructors never throw
        fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
        fs::remove_all(path, ignored);
    }
    std::string file(const std::string& name) const { return (fs::path(path) / name).string(); }
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(path))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }

    const std::string path;
};

//! Everything that saves.
struct Saver
{
    const char* name;
    std::function<void(const std::string&)> save;
};

std::vector<Saver> savers()
{
    const tld::StandardScene scene;
    const Ptr<tld::TrackerTLD> tracker = tld::trackerOn(scene, tld::Engine::CPU);
    const Ptr<tld::TLDDetector> detector = tld::TLDDetector::create();
    const Ptr<tld::MultiTrackerTLD> several = tld::MultiTrackerTLD::create();
    detector->init(scene.frame(0), scene.box(0));
    several->add(scene.frame(0), scene.box(0));
    const auto ofAlgorithm = [](const Ptr<Algorithm>& algorithm)
    { return [algorithm](const std::string& file) { algorithm->save(file); }; };
    const auto old = std::make_shared<Folder>(); // lives as long as the last copy of convert
    RNG rng(20261122);
    std::ofstream(old->file("cascade.xml"))
        << cascadeText(CascadeGenerator(7, randomImage(rng, Size(97, 83), CV_8UC1, 5)).make(), ".xml");
    const auto convert = [old](const std::string& file)
    { EXPECT_TRUE(cuda::CascadeClassifierEx::convert(old->file("cascade.xml"), file)); };
    return {{"CascadeClassifierEx::convert", convert},
            {"TrackerTLD", [tracker](const std::string& file) { tracker->save(file); }},
            {"TLDDetector", ofAlgorithm(detector)},
            {"MultiTrackerTLD", ofAlgorithm(several)},
            {"MultiTrackerTLD::saveObject", [several](const std::string& file) { several->saveObject(0, file); }},
            {"FragmentMatcher", ofAlgorithm(cuda::FragmentMatcher::create())},
            {"QuickShift", ofAlgorithm(cuda::QuickShift::create())},
            {"CascadeClassifierEx", ofAlgorithm(cuda::CascadeClassifierEx::create())}};
}

void expectFailure(const Saver& saver, const std::string& file, const std::string& why = "cannot be written")
{
    expectRefused([&] { saver.save(file); }, {file, "cannot be written", why});
}

TEST(Common_FilesWritten, anEmptyNameIsSaid)
{
    const std::string says = "the file name is empty";
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        expectRefused([&] { saver.save(""); }, {says});
    }
    expectRefused([] { cuda::CascadeClassifierEx::create()->load(""); }, {says});
    expectRefused([] { cuda::CascadeClassifierEx::convert("", "x.xml"); }, {says});
    expectRefused([] { cuda::TrackerTLD::create()->load(""); }, {says});
}

TEST(Common_FilesWritten, replacesAFile)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        const std::string file = folder.file("a.yml");
        saver.save(file);
        const std::string content = contentOf(file);
        EXPECT_GT(content.size(), 20u);
        std::ofstream(file) << "something else";
        saver.save(file);
        EXPECT_EQ(content, contentOf(file));
        EXPECT_EQ(std::vector<std::string>{"a.yml"}, folder.names());
        saver.save(folder.file("b.xml"));
        EXPECT_EQ('<', contentOf(folder.file("b.xml"))[0]);
        saver.save(folder.file("c.json"));
        EXPECT_EQ('{', contentOf(folder.file("c.json"))[0]);
    }
}

TEST(Common_FilesWritten, foldersThatAreNone)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        fs::create_directory(folder.file("folder.yml"));
        std::ofstream(folder.file("file")) << "x";
        expectFailure(saver, folder.file("folder.yml"), "is a folder");
        expectFailure(saver, folder.file("missing/a.yml"));
        expectFailure(saver, folder.file("file/a.yml"));
        EXPECT_EQ((std::vector<std::string>{"file", "folder.yml"}), folder.names());
    }
}

#ifdef __unix__

//! Acts like a full disk: the first bytes can be written, and the others cannot.
class Limited
{
public:
    explicit Limited(rlim_t bytes)
    {
        getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~Limited()
    {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_;
    void (*handler_)(int);
};

TEST(Common_FilesWritten, diskIsFull)
{
    for (const Saver& saver : savers())
        for (const bool old : {false, true})
        {
            SCOPED_TRACE(saver.name);
            const Folder folder;
            const std::string file = folder.file("a.yml");
            if (old)
                std::ofstream(file) << "old";
            {
                const Limited limited(10);
                expectFailure(saver, file);
            }
            EXPECT_EQ(old ? std::vector<std::string>{"a.yml"} : std::vector<std::string>(), folder.names());
            EXPECT_EQ(old ? "old" : "", contentOf(file));
            saver.save(file);
            EXPECT_GT(contentOf(file).size(), 20u);
        }
}

TEST(Common_FilesWritten, deviceIsFull)
{
    if (!fs::exists("/dev/full"))
        throw SkipTestException("there is no /dev/full");
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        fs::create_symlink("/dev/full", folder.file("full.yml"));
        expectFailure(saver, folder.file("full.yml"));
        EXPECT_TRUE(fs::is_symlink(folder.file("full.yml")));
        EXPECT_TRUE(fs::is_character_file("/dev/full"));
        EXPECT_EQ(std::vector<std::string>{"full.yml"}, folder.names());
    }
}

#ifdef __linux__

/** Runs this for each saver on a thread of its own, with a folder, the file a.yml in it and what a save makes of it. To
the kernel a thread's user and mounts are its own.
@param prepare the thread; false where that is not allowed. */
void onAThread(const std::function<bool(const Folder&)>& prepare,
               const std::function<void(const Saver&, const Folder&, const std::string&)>& work)
{
    bool allowed = true;
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        const std::string file = folder.file("a.yml");
        saver.save(file);
        const std::string content = contentOf(file);
        std::ofstream(file) << "old";
        std::thread(
            [&]
            {
                allowed = prepare(folder);
                if (allowed)
                {
                    EXPECT_NO_THROW(work(saver, folder, content));
                }
            })
            .join();
    }
    if (!allowed)
        throw SkipTestException("this user may not do that");
}

//! Root may write anywhere.
bool becomeNobody() { return geteuid() != 0 || syscall(SYS_setresuid, 65534, 65534, 65534) == 0; }

void permit(const std::string& path, unsigned mode) { fs::permissions(path, static_cast<fs::perms>(mode)); }

TEST(Common_FilesWritten, noPermission)
{
    onAThread(
        [](const Folder& folder)
        {
            permit(folder.file("a.yml"), 0444);
            permit(folder.path, 0777);
            return becomeNobody();
        },
        [](const Saver& saver, const Folder& folder, const std::string&)
        {
            expectFailure(saver, folder.file("a.yml"), "Permission denied");
            EXPECT_EQ("old", contentOf(folder.file("a.yml")));
        });
    onAThread(
        [](const Folder& folder)
        {
            permit(folder.path, 0555);
            return becomeNobody();
        },
        [](const Saver& saver, const Folder& folder, const std::string&)
        {
            expectFailure(saver, folder.file("b.yml"), "Permission denied");
            EXPECT_EQ(std::vector<std::string>{"a.yml"}, folder.names());
        });
}

//! The file can be written, but not replaced.
void expectWrittenOver(const Saver& saver, const Folder& folder, const std::string& content)
{
    const std::string file = folder.file("a.yml");
    saver.save(file);
    EXPECT_EQ(content, contentOf(file));
    std::ofstream(file) << "something " << std::string(content.size(), '-'); // longer
    saver.save(file);
    EXPECT_EQ(content, contentOf(file));
    std::ofstream(file) << "old";
    {
        const Limited limited(10);
        expectFailure(saver, file);
    }
    EXPECT_EQ("old", contentOf(file));
    EXPECT_EQ(std::vector<std::string>{"a.yml"}, folder.names());
}

TEST(Common_FilesWritten, folderCannotBeWritten)
{
    onAThread(
        [](const Folder& folder)
        {
            permit(folder.file("a.yml"), 0666);
            permit(folder.path, 0555);
            return becomeNobody();
        },
        expectWrittenOver);
}

TEST(Common_FilesWritten, mountPoint)
{
    onAThread(
        [](const Folder& folder)
        {
            const std::string file = folder.file("a.yml");
            return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   mount(file.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) == 0;
        },
        expectWrittenOver);
}

std::string watched;         // folder
unsigned modesSeen[10] = {}; // of files in it that are open
int seen = 0;

//! Allocates nothing, because a signal may come anywhere.
void lookAtOpenFiles(int)
{
    for (int file = 3; file < 300 && seen < 10; ++file)
    {
        char link[40], path[1000];
        std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
        const ssize_t length = readlink(link, path, sizeof(path));
        struct stat status;
        if (length >= static_cast<ssize_t>(watched.size()) &&
            watched.compare(0, std::string::npos, path, watched.size()) == 0 && fstat(file, &status) == 0)
            modesSeen[seen++] = status.st_mode & 07777;
    }
}

//! The write that exceeds the limit sends a signal, at which there is the new file, and something in it.
TEST(Common_FilesWritten, permissionsHoldFromTheFirstByteOn)
{
    for (const Saver& saver : savers())
        for (const unsigned mode : {0600u, 0640u, 0666u})
        {
            SCOPED_TRACE(saver.name);
            const Folder folder;
            const std::string file = folder.file("a.yml");
            std::ofstream(file) << "old";
            fs::permissions(file, static_cast<fs::perms>(mode));
            watched = folder.path;
            seen = 0;
            {
                const Limited limited(10);
                std::signal(SIGXFSZ, lookAtOpenFiles);
                expectFailure(saver, file);
            }
            ASSERT_GT(seen, 0);
            for (int i = 0; i < seen; ++i)
                EXPECT_EQ(mode, modesSeen[i]);
            saver.save(file);
            EXPECT_EQ(mode, static_cast<unsigned>(fs::status(file).permissions()));
        }
}

#endif // __linux__

//! Saves to a file that is open here, as a shell's redirection opens it, and that goes on afterwards. @return its
//! content.
std::string savedOpened(const Saver& saver, const std::string& file, int flags, int as, const std::string& name)
{
    std::fflush(nullptr);
    std::ofstream(file) << "old\n";
    const int opened = open(file.c_str(), O_WRONLY | flags), before = dup(as);
    dup2(opened, as);
    EXPECT_EQ(5, write(as, "head\n", 5));
    EXPECT_NO_THROW(saver.save(name.empty() ? "/dev/fd/" + std::to_string(as) : name)) << name;
    EXPECT_EQ(5, write(as, "tail\n", 5));
    if (before >= 0)
        dup2(before, as);
    close(before >= 0 ? before : as);
    close(opened);
    return contentOf(file);
}

TEST(Common_FilesWritten, redirectedOutputs)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder, links;
        const std::string file = folder.file("a.txt"), link = links.file("link.yml");
        saver.save(folder.file("a.yml"));
        const std::string content = contentOf(folder.file("a.yml"));
        fs::remove(folder.file("a.yml"));
        fs::create_symlink("/dev/stdout", link);
        const std::pair<int, std::string> names[] = {{STDOUT_FILENO, "/dev/stdout"},
                                                     {STDERR_FILENO, "/dev/stderr"},
                                                     {STDOUT_FILENO, link},
                                                     {100, "/dev/fd/100"},
                                                     {100, "/proc/self/fd/100"}};
        for (const auto& name : names)
            for (const int flags : {O_APPEND, O_TRUNC})
            {
                const std::string start = flags == O_APPEND ? "old\n" : "";
                EXPECT_EQ(start + "head\n" + content + "tail\n",
                          savedOpened(saver, file, flags, name.first, name.second))
                    << name.second;
            }
        EXPECT_EQ(std::vector<std::string>{"a.txt"}, folder.names());
        expectFailure(saver, "/dev/fd/100"); // closed
    }
}

//! @param into where the bytes go; all of them come out of the other end.
std::string savedThrough(const Saver& saver, int into, int from)
{
    std::string read;
    std::thread reader(
        [&]
        {
            char part[1000];
            for (ssize_t count; (count = ::read(from, part, sizeof(part))) > 0;) // a terminal's end is an error
                read.append(part, static_cast<size_t>(count));
        });
    EXPECT_NO_THROW(saver.save("/dev/fd/" + std::to_string(into)));
    close(into);
    reader.join();
    close(from);
    return read;
}

TEST(Common_FilesWritten, intoPipesAndTerminalsThatAreOpen)
{
    for (const Saver& saver : savers())
    {
        SCOPED_TRACE(saver.name);
        const Folder folder;
        saver.save(folder.file("a.yml"));
        int ends[2];
        ASSERT_EQ(0, pipe(ends));
        EXPECT_EQ(contentOf(folder.file("a.yml")), savedThrough(saver, ends[1], ends[0]));

        const int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0)
            throw SkipTestException("this machine gives no terminals");
        ASSERT_TRUE(grantpt(master) == 0 && unlockpt(master) == 0);
        const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
        ASSERT_GE(terminal, 0);
        termios raw;
        tcgetattr(terminal, &raw);
        cfmakeraw(&raw);
        tcsetattr(terminal, TCSANOW, &raw);
        EXPECT_EQ(contentOf(folder.file("a.yml")), savedThrough(saver, terminal, master));
    }
}

//! Links stay links, permissions stay.
TEST(Common_FilesWritten, throughLinks)
{
    const Saver saver = savers()[1];
    const Folder folder, other;
    saver.save(folder.file("a.yml"));
    const std::string content = contentOf(folder.file("a.yml"));
    fs::permissions(folder.file("a.yml"), fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(folder.file("a.yml")) << "old";
    fs::create_symlink("a.yml", folder.file("b.yml"));
    fs::create_symlink(folder.file("b.yml"), other.file("c.yml"));
    saver.save(other.file("c.yml"));
    EXPECT_TRUE(fs::is_symlink(folder.file("b.yml")) && fs::is_symlink(other.file("c.yml")));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder.file("a.yml"))));
    EXPECT_EQ(content, contentOf(folder.file("a.yml")));
    EXPECT_EQ(fs::perms::owner_read | fs::perms::owner_write, fs::status(folder.file("a.yml")).permissions());
    EXPECT_EQ(std::vector<std::string>{"c.yml"}, other.names());
    fs::create_symlink("new.yml", folder.file("d.yml")); // leads to what is not there yet
    saver.save(folder.file("d.yml"));
    EXPECT_EQ(content, contentOf(folder.file("new.yml")));
    EXPECT_TRUE(fs::is_symlink(folder.file("d.yml")));
    fs::create_symlink("loop.yml", folder.file("loop.yml"));
    expectFailure(saver, folder.file("loop.yml"));
}

//! In a program that was started without standard input, the file gets its number, 0.
TEST(Common_FilesWritten, withoutStandardInput)
{
    for (const Saver& saver : savers())
    {
        const Folder folder;
        saver.save(folder.file("a.yml"));
        const int input = dup(STDIN_FILENO);
        close(STDIN_FILENO);
        EXPECT_NO_THROW(saver.save(folder.file("b.yml"))) << saver.name;
        EXPECT_EQ(-1, fcntl(STDIN_FILENO, F_GETFD)) << saver.name << ": is closed after that";
        dup2(input, STDIN_FILENO);
        close(input);
        EXPECT_EQ(contentOf(folder.file("a.yml")), contentOf(folder.file("b.yml"))) << saver.name;
    }
}

//! Pipes are written directly.
TEST(Common_FilesWritten, intoAPipe)
{
    const Saver saver = savers()[1];
    const Folder folder;
    saver.save(folder.file("a.yml"));
    const std::string pipe = folder.file("pipe.yml");
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    std::string read;
    std::thread reader([&] { read = contentOf(pipe); });
    saver.save(pipe);
    reader.join();
    EXPECT_EQ(contentOf(folder.file("a.yml")), read);
    EXPECT_TRUE(fs::is_fifo(pipe));
}

#endif // __unix__

TEST(Common_FilesWritten, quickShiftIsLoaded)
{
    const Folder folder;
    const Ptr<cuda::QuickShift> made = cuda::QuickShift::create(4.5, 17., 0.25);
    made->setTieRule(cuda::QuickShift::STRICT);
    made->save(folder.file("a.json"));
    const Ptr<cuda::QuickShift> read = cuda::QuickShift::load(folder.file("a.json"));
    EXPECT_EQ(4.5, read->getSigma());
    EXPECT_EQ(17., read->getMaxDist());
    EXPECT_EQ(Scalar::all(0.25), read->getChannelScales());
    EXPECT_EQ(int(cuda::QuickShift::STRICT), read->getTieRule());
    for (const std::string& file : {folder.file("missing.yml"), folder.file("other.yml")})
    {
        std::ofstream(folder.file("other.yml")) << "%YAML:1.0\n---\nx: 3\n";
        expectRefused([&] { cuda::QuickShift::load(file); }, {file});
    }
}

}} // namespace opencv_test
