/// Data over a socket, for both ends of the helper process. The receiver has a deadline and a
/// budget of bytes, so that a process gone wrong can neither stall it nor exhaust its memory.
#pragma once

#include "guard.hpp"

#include <string>
#include <vector>

namespace firn_vdb
{

/// Thrown when the other end is gone or says what it must not.
struct broken_wire {
};

/// Thrown when the deadline passes.
struct late_wire {
};

class sender
{
  public:
    explicit sender(int socket) : socket_(socket) {}

    void bytes(const void *data, size_t size);

    template <class T> void value(const T &v) { bytes(&v, sizeof v); }
    void text(const std::string &s)
    {
        value((uint64_t)s.size());
        bytes(s.data(), s.size());
    }
    template <class T> void items(const array<T> &a)
    {
        value((uint64_t)a.size());
        bytes(a.data(), a.size() * sizeof(T));
    }
    template <class T> void list(std::vector<T> &entries)
    {
        value((uint64_t)entries.size());
        for (T &entry : entries)
            transfer(*this, entry);
    }
    void flush();

  private:
    void send_all(const char *data, size_t size);

    int socket_;
    std::string buffer_;
};

class receiver
{
  public:
    /// deadline as firn_seconds() counts, or 0 for none; budget in bytes.
    receiver(int socket, double deadline, uint64_t budget)
        : socket_(socket), deadline_(deadline), budget_(budget)
    {
    }

    void bytes(void *data, size_t size);

    template <class T> void value(T &v)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes(&v, sizeof v);
    }
    // A byte other than 0 and 1 in a bool is undefined behavior, so it is read as a number.
    void value(bool &v)
    {
        unsigned char byte;
        bytes(&byte, 1);
        v = byte != 0;
    }
    void text(std::string &s)
    {
        s.resize(count(1));
        bytes(s.data(), s.size());
    }
    template <class T> void items(array<T> &a)
    {
        a = array<T>(count(sizeof(T)));
        bytes(a.data(), a.size() * sizeof(T));
    }
    template <class T> void list(std::vector<T> &entries)
    {
        // Entries are read one by one, so a false count ends with the data, not with the memory.
        uint64_t announced = count(1);
        entries.clear();
        for (uint64_t i = 0; i < announced; i++) {
            entries.emplace_back();
            spend(sizeof(T));
            transfer(*this, entries.back());
        }
    }

  private:
    size_t count(size_t element);
    void spend(uint64_t size);

    int socket_;
    double deadline_;
    uint64_t budget_;
};

} // namespace firn_vdb
