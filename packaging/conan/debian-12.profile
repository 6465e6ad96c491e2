# The packages of Debian 12 in place of Conan's. A version here answers the recipe; whether the system's is new enough, CMake finds out.
[settings]
compiler.cppstd=gnu20
[platform_requires]
boost/1.81.0
cli11/2.1.2
fmt/9.1.0
kainjow-mustache/4.1
libcurl/7.88.1
openssl/3.0.0
sqlite3/3.40.1
tomlplusplus/3.3.0
zlib/1.2.13
[platform_tool_requires]
cmake/3.25.1
