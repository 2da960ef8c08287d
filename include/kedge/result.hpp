/* What the functions of kedge.hpp give: a value or an error. And what they are made of. */
#ifndef KEDGE_RESULT_HPP
#define KEDGE_RESULT_HPP

#include <kedge/kedge.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace kedge
{

/* kedge_error as a value. */
class [[nodiscard]] error
{
  public:
    error() = default;
    error(kedge_status failed, const kedge_error &filled) : c_(filled)
    {
        c_.status = failed;
    }
    error(kedge_status failed, std::string_view code, std::string_view message)
    {
        c_.status = failed;
        c_.code[code.copy(c_.code, sizeof c_.code - 1)] = '\0';
        c_.message[message.copy(c_.message, sizeof c_.message - 1)] = '\0';
    }

    bool ok() const
    {
        return c_.status == KEDGE_OK;
    }
    kedge_status status() const
    {
        return c_.status;
    }
    std::string_view status_name() const
    {
        return kedge_status_name(c_.status);
    }
    std::string_view code() const
    {
        return c_.code;
    }
    std::string_view message() const
    {
        return c_.message;
    }
    const kedge_error &c() const
    {
        return c_;
    }

    /* Fills a kedge_error, which may be NULL, and returns the status, as C functions do. */
    kedge_status give(kedge_error *to) const
    {
        if (to) *to = c_;
        return c_.status;
    }

  private:
    kedge_error c_ = {};
};

#if defined(__cpp_exceptions)
/* What or_throw() throws. */
class failure : public std::runtime_error
{
  public:
    explicit failure(const error &of)
        : std::runtime_error(std::string(of.code()) + ": " + std::string(of.message())), error_(of)
    {
    }
    const kedge::error &error() const
    {
        return error_;
    }

  private:
    kedge::error error_;
};
#endif

namespace detail
{

[[noreturn]] inline void fail(const error &of)
{
#if defined(__cpp_exceptions)
    throw failure(of);
#else
    std::fprintf(stderr, "%s: %s\n", of.c().code, of.c().message);
    std::abort();
#endif
}

/* Calls a function of the app for C, through which no exception may go: `caught` gets its message.
 * Without exceptions (-fno-exceptions) there is none. */
template <class Function, class Caught>
auto guarded(Function function, [[maybe_unused]] Caught caught) -> decltype(function())
{
#if defined(__cpp_exceptions)
    try {
        return function();
    } catch (const std::exception &thrown) {
        return caught(thrown.what());
    } catch (...) {
        return caught("what was thrown is no std::exception");
    }
#else
    return function();
#endif
}

} // namespace detail

/* A value, or the error because of which there is none. */
template <class T> class [[nodiscard]] result
{
  public:
    result(T value) : of_(std::move(value))
    {
    }
    result(kedge::error failed) : of_(std::move(failed))
    {
    }

    bool ok() const
    {
        return std::holds_alternative<T>(of_);
    }
    explicit operator bool() const
    {
        return ok();
    }

    /* The value. Call it only when there is one: see ok(). */
    T &operator*()
    {
        return *std::get_if<T>(&of_);
    }
    const T &operator*() const
    {
        return *std::get_if<T>(&of_);
    }
    T *operator->()
    {
        return std::get_if<T>(&of_);
    }
    const T *operator->() const
    {
        return std::get_if<T>(&of_);
    }

    /* The error; one with the status KEDGE_OK when there is a value. What it gives is borrowed as
     * long as the result lives; of a result that ends at once it is a copy. */
    const kedge::error &error() const &
    {
        static const kedge::error none{};
        const auto *failed = std::get_if<kedge::error>(&of_);
        return failed ? *failed : none;
    }
    kedge::error error() const &&
    {
        return static_cast<const result &>(*this).error();
    }

    /* The value; a kedge::failure is thrown when there is none (without exceptions: abort). */
    T or_throw() &&
    {
        if (!ok()) detail::fail(error());
        return std::move(**this);
    }

  private:
    std::variant<T, kedge::error> of_;
};

template <> class [[nodiscard]] result<void>
{
  public:
    result() = default;
    result(kedge::error failed) : error_(std::move(failed))
    {
    }

    bool ok() const
    {
        return error_.ok();
    }
    explicit operator bool() const
    {
        return ok();
    }
    const kedge::error &error() const &
    {
        return error_;
    }
    kedge::error error() const &&
    {
        return error_;
    }
    void or_throw() const
    {
        if (!ok()) detail::fail(error_);
    }

  private:
    kedge::error error_;
};

namespace detail
{

/* Runs a function of C that takes its error last. */
template <class Function> result<void> run(Function function)
{
    kedge_error filled = {};
    const kedge_status status = function(&filled);
    if (status == KEDGE_OK) return {};
    return kedge::error(status, filled);
}

/* The same, with the value that it has made. */
template <class Function, class Value>
auto give(Function function, Value value) -> result<decltype(value())>
{
    kedge_error filled = {};
    const kedge_status status = function(&filled);
    if (status != KEDGE_OK) return kedge::error(status, filled);
    return value();
}

/* A text for a parameter that ends with a NUL. One inside would cut it without a word. */
class name
{
  public:
    explicit name(std::string_view given) : text_(given)
    {
    }
    const char *text() const
    {
        return text_.c_str();
    }

    template <class Function, class... Arguments>
    kedge_status check(kedge_error *error, Function function, Arguments... arguments) const
    {
        return sound() ? function(arguments..., error) : refusal().give(error);
    }
    bool sound() const
    {
        return text_.find('\0') == std::string::npos;
    }
    static kedge::error refusal()
    {
        return {KEDGE_INVALID_ARGUMENT, "text-invalid", "a text has a NUL inside"};
    }

  private:
    std::string text_;
};

inline const char *data(const std::optional<std::string_view> &text)
{
    /* An empty view may have no data, but a text that is there is never NULL for C. */
    return !text ? nullptr : text->data() ? text->data() : "";
}

inline size_t size(const std::optional<std::string_view> &text)
{
    return text ? text->size() : 0;
}

/* A pointer of C, freed by its owner. */
template <class T, auto free> class owner
{
  public:
    using pointer_type = T *;
    owner() = default;
    explicit owner(T *pointer) : pointer_(pointer)
    {
    }
    owner(owner &&other) noexcept : pointer_(std::exchange(other.pointer_, nullptr))
    {
    }
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            close();
            pointer_ = std::exchange(other.pointer_, nullptr);
        }
        return *this;
    }
    ~owner()
    {
        close();
    }

    explicit operator bool() const
    {
        return pointer_ != nullptr;
    }
    T *get() const
    {
        return pointer_;
    }
    /* Frees it before its end. */
    void close()
    {
        free(std::exchange(pointer_, nullptr));
    }

  private:
    T *pointer_ = nullptr;
};

/* An iteration, which keeps the error that has ended it. */
template <class T, auto free> class cursor : public owner<T, free>
{
  public:
    using owner<T, free>::owner;
    const kedge::error &error() const
    {
        return error_;
    }

  protected:
    template <class Function> bool step(Function function)
    {
        kedge_error filled = {};
        const kedge_status status =
            this->get()
                ? function(&filled)
                : kedge::error(KEDGE_INVALID_ARGUMENT, "closed", "it is closed").give(&filled);
        if (status == KEDGE_OK) return true;
        error_ = status == KEDGE_DONE ? kedge::error() : kedge::error(status, filled);
        return false;
    }

  private:
    kedge::error error_;
};

} // namespace detail
} // namespace kedge

#endif
