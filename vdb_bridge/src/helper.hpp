/// The process that reads files of unknown origin, as its owner sees it.
#pragma once

#include "data.hpp"
#include "wire.hpp"

#include <filesystem>
#include <sys/types.h>

namespace firn_vdb
{

class helper
{
  public:
    explicit helper(const firn_vdb_reader_def &def);
    ~helper() { stop(); }
    helper(const helper &) = delete;
    helper &operator=(const helper &) = delete;

    /// Reads in the helper process. A crash, a timeout or a refusal there is a failure here; what
    /// went wrong in a process that had read other files before is tried again in a new one.
    template <class Result> void read(request wanted, Result &result)
    {
        wanted.what = kind_of(result);
        wanted.location = std::filesystem::absolute(wanted.path);
        for (;;) {
            bool used = running();
            try {
                attempt(wanted, result);
                return;
            } catch (const failure &problem) {
                stop();
                if (!used || problem.error.code == FIRN_ERR_TIMEOUT)
                    throw;
            } catch (...) {
                stop();
                throw;
            }
            result = Result();
        }
    }

  private:
    template <class Result> void attempt(request &wanted, Result &result)
    {
        double deadline = firn_seconds() + timeout_;
        try {
            start();
            sender out(socket_);
            transfer(out, wanted);
            out.flush();
            receiver in(socket_, deadline, budget_);
            receive_verdict(in);
            transfer(in, result);
        } catch (const broken_wire &) {
            report_death(wanted.path);
        } catch (const late_wire &) {
            report_delay(wanted.path);
        }
    }

    bool running() const { return pid_ > 0; }
    void start();
    void stop();
    void receive_verdict(receiver &in);
    [[noreturn]] void report_death(const std::string &path);
    [[noreturn]] void report_delay(const std::string &path);

    std::string program_;
    double memory_limit_; // MB
    double timeout_;      // s
    uint64_t budget_;     // bytes that an answer may have
    int socket_ = -1;
    pid_t pid_ = -1;
};

} // namespace firn_vdb
