// The bindings of the core: the module's content, and the translation of errors. Only this folder knows Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/locks.hpp"
#include "base/workers.hpp"
#include "python/kernels.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

void keep_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

// Passes fields, not text: unitless.errors composes the message.
template <class... Fields>
void raise(const char* name, Fields&&... fields) {
    const nb::object type = nb::module_::import_("unitless.errors").attr(name);
    const nb::object error = type(std::forward<Fields>(fields)...);
    PyErr_SetObject(type.ptr(), error.ptr());
}

nb::object column_of(const Place& place) {
    if (const auto* number = std::get_if<std::size_t>(&place.column)) return nb::cast(*number);
    if (const auto* name = std::get_if<std::string>(&place.column)) return nb::cast(*name);
    return nb::none();
}

}  // namespace
}  // namespace unitless

NB_MODULE(_core, m) {
    using namespace unitless;

    load_numpy();
    nb::set_leak_warnings(false);  // a model that lives until the program ends is not a leak

    nb::register_exception_translator(
        [](const std::exception_ptr& error, void*) {
            try {
                std::rethrow_exception(error);
            } catch (const InputError& e) {
                raise("InputError", e.problem, "advice"_a = e.advice, "row"_a = e.place.row,
                      "column"_a = column_of(e.place), "value"_a = e.value);
            } catch (const DivergedError& e) {
                raise("DivergedError", "at"_a = e.diverged_at, "learned"_a = e.row);
            }
        },
        nullptr);

    m.def(
        "_before_fork",
        [] {
            ForkLocks::hold([](Lock& lock) {
                const Released release;  // the thread that holds it may need the interpreter to continue
                lock.lock();
            });
        },
        "Wait until no thread is inside a learner, and keep others out.");
    m.def("_after_fork", &ForkLocks::release, "Let threads into the learners again.");
    const nb::module_ system = nb::module_::import_("os");
    if (nb::hasattr(system, "register_at_fork"))  // Windows has no fork
        system.attr("register_at_fork")("before"_a = m.attr("_before_fork"),
                                        "after_in_parent"_a = m.attr("_after_fork"),
                                        "after_in_child"_a = m.attr("_after_fork"));

    m.def("kernels", &kernel_names, "The instruction sets that this machine can run, slowest first.");

    m.def(
        "keep_memory", &keep_memory,
        "From now on this process keeps freed memory for itself, instead of having it cleared by the system each time "
        "that it is used again.");
    m.def("thread_count", &thread_count, "How many threads may work: UNITLESS_THREADS, or as many as there are cores.");
    m.def("work_alone", &work_alone, "from_here_on"_a,
          "Whether models that this thread works at, from here on, are worked at by no other thread.");
    define_text(m);
    define_dates(m);
    define_gather(m);
    define_remembered(m);
    define_learner(m);
    define_mixture(m);
    define_calibration(m);
    define_bandit(m);
}
