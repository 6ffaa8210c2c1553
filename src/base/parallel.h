// Runs independent pieces of work on all cores. Used by counting, validation and the permutation tests; results never depend on the number
// of threads, since each piece writes only its own output.
#pragma once

#include <cstddef>
#include <functional>

namespace atlas {

// Calls work(begin, end) for ranges that cover [0, count) once, on up to hardware_concurrency() threads. The first exception is rethrown.
void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t begin, std::size_t end)>& work);

// 0 (the start) means as many as the machine has.
void set_thread_count(unsigned count);
unsigned thread_count();

}  // namespace atlas
