// See parallel.h.
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace atlas {

static std::atomic<unsigned> requested_threads{0};

void set_thread_count(unsigned count) { requested_threads = count; }

unsigned thread_count() {
  const unsigned requested = requested_threads;
  return requested > 0 ? requested : std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t pieces = grain > 0 ? (count + grain - 1) / grain : 0;
  const std::size_t threads = std::min<std::size_t>(thread_count(), pieces);
  if (threads <= 1) {
    if (count > 0) work(0, count);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&] {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece * grain, std::min(count, (piece + 1) * grain));
    } catch (...) {
      const std::lock_guard<std::mutex> guard(failure_lock);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t i = 1; i < threads; i++) pool.emplace_back(run);
  run();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace atlas
