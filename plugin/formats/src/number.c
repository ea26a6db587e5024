#define _POSIX_C_SOURCE 200809L
#include "firn/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 19, MAX_EXACT_POWER = 22, LONG_NUMBER = 800 };

static const double powers_of_ten[MAX_EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct decimal {
    bool negative;
    bool exact;        // digits holds every significant digit
    uint64_t digits;   // at most MAX_DIGITS of them
    int64_t exponent;  // value = digits * 10^exponent
    const char *begin; // of the text, sign included
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

void *firn_number_locale_enter(void)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale != (locale_t)0 ? uselocale(c_locale) : NULL;
}

void firn_number_locale_leave(void *previous)
{
    if (previous == NULL)
        return;
    locale_t c_locale = uselocale((locale_t)previous);
    if (c_locale != LC_GLOBAL_LOCALE)
        freelocale(c_locale);
}

static const char *parse_exponent(const char *at, const char *end, int64_t *exponent)
{
    const char *start = at; // an 'e' without digits does not belong to the number
    bool negative = false;
    at++;
    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    if (at == end || !is_digit(*at))
        return start;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++)
        if (value < 100000000)
            value = 10 * value + (*at - '0');
    *exponent += negative ? -value : value;
    return at;
}

static const char *add_digits(const char *at, const char *end, uint64_t *digits)
{
    uint64_t sum = *digits;
    for (; at < end && is_digit(*at); at++)
        sum = 10 * sum + (uint64_t)(*at - '0');
    *digits = sum;
    return at;
}

// Numbers with more digits than fit: keeps the first that count and notes whether that is all.
static void shorten_digits(const char *at, const char *end, decimal *number)
{
    int count = 0;
    bool fraction = false;
    number->digits = 0;
    number->exponent = 0;
    for (; at < end; at++) {
        if (*at == '.') {
            fraction = true;
        } else if (count < MAX_DIGITS) {
            number->digits = 10 * number->digits + (uint64_t)(*at - '0');
            count += number->digits != 0;
            number->exponent -= fraction;
        } else {
            number->exact = number->exact && *at == '0';
            number->exponent += !fraction;
        }
    }
}

static const char *parse_decimal(const char *at, const char *end, decimal *number)
{
    *number = (decimal){.exact = true, .begin = at};
    if (at < end && (*at == '+' || *at == '-'))
        number->negative = *at++ == '-';
    const char *first = at;
    at = add_digits(at, end, &number->digits);
    ptrdiff_t count = at - first;
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        at = add_digits(at, end, &number->digits);
        number->exponent = fraction - at;
        count += at - fraction;
    }
    if (count == 0)
        return NULL;
    if (count > MAX_DIGITS)
        shorten_digits(first, at, number);
    if (at < end && (*at == 'e' || *at == 'E'))
        at = parse_exponent(at, end, &number->exponent);
    return at;
}

// Both factors are exact doubles, so one rounding gives the nearest value (Clinger 1990).
static bool fast_value(const decimal *number, double *value)
{
    if (!number->exact || number->digits > (UINT64_C(1) << 53) ||
        number->exponent < -MAX_EXACT_POWER || number->exponent > MAX_EXACT_POWER)
        return false;
    double digits = (double)number->digits;
    double magnitude = number->exponent < 0 ? digits / powers_of_ten[-number->exponent]
                                            : digits * powers_of_ten[number->exponent];
    *value = number->negative ? -magnitude : magnitude;
    return true;
}

// The C library knows the rest. No middle between two doubles has more than 767 digits, so of
// the digits beyond that a copy need only keep whether there are any.
static void copy_for_library(const decimal *number, const char *end, char *copy)
{
    const char *at = number->begin;
    if (*at == '+' || *at == '-')
        at++;
    size_t length = 0;
    int64_t exponent = 0;
    bool fraction = false, more = false;
    if (number->negative)
        copy[length++] = '-';
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        bool leading_zero = *at == '0' && (length == 0 || copy[length - 1] == '-');
        if (!leading_zero && length < LONG_NUMBER - 28) {
            copy[length++] = *at;
        } else if (!leading_zero) {
            exponent++;
            more = more || *at != '0';
        }
        exponent -= fraction;
    }
    if (more) {
        copy[length++] = '1';
        exponent--;
    }
    if (length == 0 || copy[length - 1] == '-')
        copy[length++] = '0';
    if (at < end && (*at == 'e' || *at == 'E'))
        parse_exponent(at, end, &exponent);
    copy[length++] = 'e';
    if (exponent < 0)
        copy[length++] = '-';
    uint64_t magnitude = exponent < 0 ? (uint64_t)-exponent : (uint64_t)exponent;
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) != 0);
    while (count > 0)
        copy[length++] = digits[--count];
    copy[length] = '\0';
}

const char *firn_number_parse(const char *text, const char *end, double *value)
{
    decimal number;
    const char *stop = parse_decimal(text, end, &number);
    if (stop == NULL || fast_value(&number, value))
        return stop;
    char copy[LONG_NUMBER];
    copy_for_library(&number, stop, copy);
    void *previous = firn_number_locale_enter();
    *value = strtod(copy, NULL);
    firn_number_locale_leave(previous);
    return stop;
}

const char *firn_number_parse_float(const char *text, const char *end, float *value)
{
    decimal number;
    const char *stop = parse_decimal(text, end, &number);
    double wide;
    if (stop == NULL)
        return NULL;
    if (fast_value(&number, &wide)) {
        // A double that lies halfway between two floats may owe that to its own rounding. (Floats
        // with fewer bits are no concern: they are too small for the fast path.)
        uint64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        if ((bits & 0x1FFFFFFFu) != 0x10000000u) {
            *value = (float)wide;
            return stop;
        }
    }
    char copy[LONG_NUMBER];
    copy_for_library(&number, stop, copy);
    void *previous = firn_number_locale_enter();
    *value = strtof(copy, NULL);
    firn_number_locale_leave(previous);
    return stop;
}

const char *firn_number_parse_integer(const char *text, const char *end, int64_t *value)
{
    const char *at = text;
    bool negative = false;
    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    const char *digits = at;
    uint64_t magnitude = 0;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    for (; at < end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (magnitude > (limit - digit) / 10)
            return NULL;
        magnitude = 10 * magnitude + digit;
    }
    if (at == digits)
        return NULL;
    *value = (int64_t)(negative ? UINT64_C(0) - magnitude : magnitude);
    return at;
}

float firn_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1Fu;
    uint32_t mantissa = half & 0x3FFu;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    uint32_t bits =
        sign | (exponent == 31 ? 0x7F800000u : (exponent + 112u) << 23) | mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t firn_half_from_double(double value)
{
    uint16_t sign = signbit(value) ? 0x8000u : 0u;
    double magnitude = fabs(value);
    if (isnan(value))
        return (uint16_t)(sign | 0x7E00u);
    if (magnitude >= 65520.0)
        return (uint16_t)(sign | 0x7C00u);
    int exponent = -14;
    if (magnitude >= 0x1p-14)
        exponent = ilogb(magnitude);
    // In units of the last place; nearbyint rounds half to even, and a carry moves on to the next
    // exponent by itself.
    double units = nearbyint(ldexp(magnitude, 10 - exponent));
    uint32_t bits = (uint32_t)units + ((uint32_t)(exponent + 14) << 10);
    return (uint16_t)(sign | bits);
}
