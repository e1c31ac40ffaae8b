/* regex.cc - the shim over RE2; the only C++ in Berth */
#include "base/regex.h"

#include <new>
#include <vector>

#include <re2/re2.h>

struct regex {
    RE2 re;
    regex(re2::StringPiece pattern, const RE2::Options &options) : re(pattern, options)
    {
    }
};

static re2::StringPiece piece(struct str s)
{
    return re2::StringPiece(s.at ? s.at : "", s.len);
}

/* The words of Go's regexp, which Kubernetes' messages show. */
static const char *complaint(RE2::ErrorCode code)
{
    switch (code) {
    case RE2::ErrorBadEscape:
        return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
        return "invalid character class";
    case RE2::ErrorBadCharRange:
        return "invalid character class range";
    case RE2::ErrorMissingBracket:
        return "missing closing ]";
    case RE2::ErrorMissingParen:
        return "missing closing )";
    case RE2::ErrorTrailingBackslash:
        return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
        return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
        return "invalid repeat count";
    case RE2::ErrorRepeatOp:
        return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
        return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
        return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
        return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
        return "expression too large";
    default:
        return "unexpected error";
    }
}

extern "C" struct regex *regex_new(struct str pattern, struct err *err)
{
    if (pattern.len > REGEX_MAX_PATTERN) {
        err_set(err, ERR_LIMIT, "pattern of %zu bytes is over the limit of %d", pattern.len,
                REGEX_MAX_PATTERN);
        return nullptr;
    }
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(REGEX_MAX_MEMORY);
    auto *r = new (std::nothrow) regex(piece(pattern), options);
    if (r && r->re.ok())
        return r;
    if (r)
        err_set(err, r->re.error_code() == RE2::ErrorPatternTooLarge ? ERR_LIMIT : ERR_SYNTAX,
                "error parsing regexp: %s: `%s`", complaint(r->re.error_code()),
                r->re.error_arg().c_str());
    delete r;
    return nullptr;
}

extern "C" void regex_free(struct regex *re)
{
    delete re;
}

extern "C" bool regex_match(const struct regex *re, struct str s)
{
    return RE2::PartialMatch(piece(s), re->re);
}

extern "C" bool regex_match_full(const struct regex *re, struct str s)
{
    return RE2::FullMatch(piece(s), re->re);
}

extern "C" bool regex_find(const struct regex *re, struct str s, size_t from, struct str *group,
                           size_t n)
{
    re2::StringPiece small[16];
    std::vector<re2::StringPiece> large(n > 16 ? n : 0);
    re2::StringPiece *found = n > 16 ? large.data() : small;

    if (from > s.len || !re->re.Match(piece(s), from, s.len, RE2::UNANCHORED, found, (int)n))
        return false;
    for (size_t i = 0; i < n; i++)
        group[i] = str{found[i].data(), found[i].size()};
    return true;
}

extern "C" int regex_groups(const struct regex *re)
{
    return re->re.NumberOfCapturingGroups();
}

extern "C" const char *regex_group_name(const struct regex *re, int i)
{
    const auto &names = re->re.CapturingGroupNames();
    auto it = names.find(i);

    return it == names.end() ? "" : it->second.c_str();
}
