# A single header, which no port of vcpkg's own registry has.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO kainjow/Mustache
  REF "v${VERSION}"
  SHA512 609c876fc085d1331355ec1f0396e588edf1fb3ea6765abcd06043cc5f7288f015d6bb7fdeb560df78aab54ae8d97e934375de577b944a09c9ae93f9915e7aff
  HEAD_REF master)
file(INSTALL "${SOURCE_PATH}/mustache.hpp" DESTINATION "${CURRENT_PACKAGES_DIR}/include/kainjow")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
