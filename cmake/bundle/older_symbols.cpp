/// \file
/// Lets the library of a bundle be linked with an older libstdc++ than the one it was built with. Only the bundle has
/// it: see cmake/KernelgenBundle.cmake.
#include <condition_variable>
#include <mutex>

// GCC 12 gave this function a new version, GLIBCXX_3.4.30, only to say that it does not throw. It is still there under
// its old version, which the libstdc++ of GCC 11 has too. --wrap leads our calls here.
extern "C" {
__asm__(".symver kernelgen_older_wait, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
void kernelgen_older_wait(std::condition_variable* self, std::unique_lock<std::mutex>* lock);

__attribute__((visibility("hidden"))) void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* self, std::unique_lock<std::mutex>* lock) {
  kernelgen_older_wait(self, lock);
}
}
