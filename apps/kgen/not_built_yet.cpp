// Stand-ins for parts of the library that are not built yet; CMakeLists.txt leaves out those that are.
#include <kernelgen/bench/worker.hpp>
#include <kernelgen/task/task_source.hpp>

namespace kernelgen {
inline namespace v0 {

#ifdef KERNELGEN_WITHOUT_WORKER
Result<void> run_worker(const WorkerOptions&, int, int, std::stop_token) {
  return Error{ErrorCode::Unsupported, "kgen worker is not built yet"};
}
#endif

#ifdef KERNELGEN_WITHOUT_TASK_SOURCE
Result<TaskSource> load_task_source(const std::string&, const TaskLocator&) {
  return Error{ErrorCode::Unsupported, "loading tasks is not built yet"};
}
#endif

}  // namespace v0
}  // namespace kernelgen
