//! The shape that the services of all areas share.

/// Makes `$service` a handle to its `$parts`.
///
/// A service is a tuple struct of one `Arc<$parts>`, so cloning it is cheap, and dereferences to its parts. It has a
/// field for each service that stands below it: `fleet.directory`, `fleet.platform`. A function takes the service that
/// it belongs to.
#[macro_export]
macro_rules! service {
    ($service:ident, $parts:ident) => {
        impl ::std::ops::Deref for $service {
            type Target = $parts;
            fn deref(&self) -> &$parts {
                &self.0
            }
        }

        impl ::std::convert::AsRef<$crate::Platform> for $service {
            fn as_ref(&self) -> &$crate::Platform {
                &self.0.platform
            }
        }

        impl ::std::fmt::Debug for $service {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(stringify!($service))
            }
        }
    };
}
