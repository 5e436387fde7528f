//! The shape that the services of all areas share.

/// Makes `$service` a handle to its `$parts`, which stand on the service below them.
///
/// A service is a tuple struct of one `Arc<$parts>`, so cloning it is cheap. It dereferences to its parts, and they
/// dereference to the service below: a function that takes `&Events` also takes a `&Fleet`, and `fleet.db` is the
/// database of the [`Platform`](crate::Platform).
#[macro_export]
macro_rules! service {
    ($service:ident, $parts:ident, $below:ident: $lower:ty) => {
        impl ::std::ops::Deref for $service {
            type Target = $parts;
            fn deref(&self) -> &$parts {
                &self.0
            }
        }

        impl ::std::ops::Deref for $parts {
            type Target = $lower;
            fn deref(&self) -> &$lower {
                &self.$below
            }
        }

        impl ::std::convert::AsRef<$crate::Platform> for $service {
            fn as_ref(&self) -> &$crate::Platform {
                self.0.$below.as_ref()
            }
        }

        impl ::std::fmt::Debug for $service {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(stringify!($service))
            }
        }
    };
}
