// Takes the place of the C library's functions in test programs: nothing has to survive a power failure there. Tests
// write thousands of files, and waiting for the disk would take most of their time.
#include <unistd.h>

int fsync(int) { return 0; }
int fdatasync(int) { return 0; }
