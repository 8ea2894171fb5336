// Python's lock, released while the core works.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace unitless {

// Lets other Python threads run during its lifetime.
//
// When the interpreter ends, a daemon thread may still be in the core. Before Python 3.14 such a thread is ended where
// it asks for Python's lock: glibc unwinds its stack, which would terminate the whole program at the first destructor
// (they are noexcept). So the thread waits here for the end of the process, as it does in Python 3.14.
class Released {
  public:
    Released() noexcept : state_(PyEval_SaveThread()) {}
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            while (true) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

  private:
    PyThreadState* state_;
};

}  // namespace unitless
