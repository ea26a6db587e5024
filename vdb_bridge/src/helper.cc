#include "helper.hpp"

#include "helper_serve.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace firn_vdb
{

namespace
{

constexpr const char *PROGRAM = "firn-vdb-helper";
constexpr uint64_t REQUEST_BUDGET = 1 << 20;

std::string directory_of(const std::string &path)
{
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string own_library()
{
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(&firn_vdb_helper_serve), &info) == 0 ||
        info.dli_fname == nullptr)
        return "";
    return info.dli_fname;
}

std::string own_program()
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, (size_t)length) : "";
}

std::string find_program(const char *chosen)
{
    if (chosen != nullptr && chosen[0] != '\0')
        return chosen;
    const char *variable = getenv("FIRN_VDB_HELPER");
    if (variable != nullptr && variable[0] != '\0')
        return variable;
    for (const std::string &origin : {own_library(), own_program()})
        for (const char *folder : {"/", "/../bin/", "/../libexec/firn/"}) {
            std::string candidate = directory_of(origin) + folder + PROGRAM;
            if (!origin.empty() && access(candidate.c_str(), X_OK) == 0)
                return candidate;
        }
    return "";
}

/// Settings of posix_spawn that are released on every way out.
struct spawn_settings {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    explicit spawn_settings(int socket)
    {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        // The socket is the standard input; what libraries print goes nowhere.
        posix_spawn_file_actions_adddup2(&actions, socket, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addclosefrom_np(&actions, 3);
        // A group of its own: an interrupt from the keyboard is the caller's business.
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    ~spawn_settings()
    {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
};

} // namespace

helper::helper(const firn_vdb_reader_def &def)
    : program_(find_program(def.helper)), memory_limit_(def.memory_limit), timeout_(def.timeout),
      budget_(def.memory_limit > 0.0 ? (uint64_t)(1e6 * def.memory_limit) : UINT64_MAX)
{
}

void helper::start()
{
    if (running())
        return;
    if (program_.empty())
        fail(FIRN_ERR_NOT_FOUND,
             "the program %s, which reads files of unknown origin, is neither beside the library "
             "nor beside the running program; name it in the environment variable FIRN_VDB_HELPER",
             PROGRAM);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        fail(FIRN_ERR_IO, "cannot start '%s': %s", program_.c_str(), strerror(errno));
    std::string limit = std::to_string((uint64_t)std::ceil(memory_limit_));
    std::string seconds = std::to_string((uint64_t)std::ceil(timeout_) + 1);
    char *arguments[] = {program_.data(), const_cast<char *>(FIRN_VERSION), limit.data(),
                         seconds.data(), nullptr};
    int reason;
    {
        spawn_settings settings(ends[1]);
        reason = posix_spawn(&pid_, program_.c_str(), &settings.actions, &settings.attributes,
                             arguments, environ);
    }
    close(ends[1]);
    if (reason != 0) {
        close(ends[0]);
        pid_ = -1;
        fail(FIRN_ERR_IO, "cannot start '%s': %s", program_.c_str(), strerror(reason));
    }
    socket_ = ends[0];
}

void helper::stop()
{
    if (!running())
        return;
    close(socket_);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

void helper::receive_verdict(receiver &in)
{
    uint32_t code;
    in.value(code);
    if (code == FIRN_OK)
        return;
    if (code > FIRN_ERR_TIMEOUT)
        throw broken_wire();
    std::string message;
    in.text(message);
    fail((firn_result)code, "%s", message.c_str());
}

void helper::report_death(const std::string &path)
{
    int status = 0;
    kill(pid_, SIGKILL); // in case it only closed the socket
    pid_t found = waitpid(pid_, &status, 0);
    close(socket_);
    bool known = found == pid_;
    pid_ = -1;
    if (known && WIFEXITED(status) && WEXITSTATUS(status) == FIRN_VDB_HELPER_MISMATCH)
        fail(FIRN_ERR_UNSUPPORTED, "'%s' belongs to another version of Firn than this library",
             program_.c_str());
    if (known && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        fail(FIRN_ERR_NOT_FOUND, "cannot start '%s'", program_.c_str());
    fail(FIRN_ERR_FORMAT,
         "'%s' is damaged, or needs more than the memory limit of %g MB: the process that read it "
         "ended with signal %d",
         path.c_str(), memory_limit_, known && WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void helper::report_delay(const std::string &path)
{
    stop();
    fail(FIRN_ERR_TIMEOUT, "'%s' could not be read within %g s: it is damaged or very large",
         path.c_str(), timeout_);
}

namespace
{

template <class Result> void answer(sender &out, const request &wanted)
{
    Result result;
    firn_error error;
    firn_result code = guarded(&error, [&] { read_grids(wanted, wanted.location, result); });
    out.value((uint32_t)code);
    if (code != FIRN_OK)
        out.text(error.message);
    else
        transfer(out, result);
    out.flush();
}

[[noreturn]] void serve(int socket, unsigned seconds)
{
    using handler = void (*)(sender &, const request &);
    static const handler handlers[] = {answer<firn_vdb_listing>, answer<firn_vdb_shape>,
                                       answer<firn_vdb_volume>, answer<firn_vdb_cloud>};
    silence_openvdb();
    for (;;) {
        request wanted;
        receiver in(socket, 0.0, REQUEST_BUDGET);
        transfer(in, wanted);
        if ((size_t)wanted.what >= FIRN_COUNT(handlers))
            throw broken_wire();
        sender out(socket);
        // An owner that was killed cannot stop a read that never ends.
        alarm(seconds);
        handlers[(size_t)wanted.what](out, wanted);
        alarm(0);
    }
}

} // namespace

} // namespace firn_vdb

int firn_vdb_helper_serve(const char *version, uint64_t megabytes, unsigned seconds)
{
    if (strcmp(version, FIRN_VERSION) != 0)
        return FIRN_VDB_HELPER_MISMATCH;
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (megabytes > 0) {
        rlim_t bytes = (rlim_t)megabytes * 1000000;
        struct rlimit space = {bytes, bytes};
        setrlimit(RLIMIT_AS, &space);
    }
    try {
        firn_vdb::serve(0, seconds);
    } catch (const firn_vdb::broken_wire &) {
        return 0; // the owner is gone
    } catch (...) {
        return 1;
    }
}
