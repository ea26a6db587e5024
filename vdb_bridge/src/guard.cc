#include "guard.hpp"

#include <cstdarg>
#include <cstdio>
#include <exception>

namespace firn_vdb
{

void fail(firn_result code, const char *format, ...)
{
    failure problem;
    problem.error.code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem.error.message, sizeof problem.error.message, format, arguments);
    va_end(arguments);
    throw problem;
}

firn_result result_of_exception(firn_error *error) noexcept
{
    try {
        throw;
    } catch (const failure &problem) {
        return firn_fail(error, problem.error.code, "%s", problem.error.message);
    } catch (const std::bad_alloc &) {
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory in the VDB bridge");
    } catch (const std::exception &problem) {
        return firn_fail(error, FIRN_ERR_FORMAT, "OpenVDB: %.900s", problem.what());
    } catch (...) {
        return firn_fail(error, FIRN_ERR_FORMAT, "OpenVDB failed for an unknown reason");
    }
}

} // namespace firn_vdb
