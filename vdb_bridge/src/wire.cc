#include "wire.hpp"

#include <cerrno>
#include <cmath>
#include <poll.h>
#include <sys/socket.h>

namespace firn_vdb
{

static constexpr size_t SEND_BUFFER = 1 << 16;

void sender::bytes(const void *data, size_t size)
{
    const char *from = static_cast<const char *>(data);
    if (size < SEND_BUFFER) {
        buffer_.append(from, size);
        if (buffer_.size() >= SEND_BUFFER)
            flush();
        return;
    }
    flush();
    send_all(from, size);
}

void sender::flush()
{
    send_all(buffer_.data(), buffer_.size());
    buffer_.clear();
}

void sender::send_all(const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(socket_, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            throw broken_wire();
        data += sent;
        size -= (size_t)sent;
    }
}

// Milliseconds for poll(), rounded up so that a deadline still ahead never reads as passed.
static int wait_time(double deadline)
{
    if (deadline <= 0.0)
        return -1;
    double left = deadline - firn_seconds();
    if (left <= 0.0)
        throw late_wire();
    return left > 1e6 ? 1000000000 : (int)std::ceil(1e3 * left);
}

void receiver::bytes(void *data, size_t size)
{
    char *to = static_cast<char *>(data);
    while (size > 0) {
        struct pollfd ready = {socket_, POLLIN, 0};
        int events = poll(&ready, 1, wait_time(deadline_));
        if (events <= 0)
            continue; // interrupted, or late: wait_time tells
        ssize_t got = recv(socket_, to, size, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            throw broken_wire();
        to += got;
        size -= (size_t)got;
    }
}

size_t receiver::count(size_t element)
{
    uint64_t announced;
    bytes(&announced, sizeof announced);
    if (announced > budget_ / element)
        throw broken_wire();
    spend(announced * element);
    return (size_t)announced;
}

void receiver::spend(uint64_t size)
{
    if (size > budget_)
        throw broken_wire();
    budget_ -= size;
}

} // namespace firn_vdb
