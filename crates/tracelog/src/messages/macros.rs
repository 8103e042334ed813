//! The expansion of an entry of the table of messages: one place in each lookup, one reader, one type for each form that is written.

/// Makes the lookups, the readers and the forms of all messages.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $message:ident {
            names: $names:tt;
            kinds: $kinds:tt;
            row: $body:ident $event:literal $columns:tt;
            $(
                $(#[$form_doc:meta])*
                form: $form:ident $severity:ident $thread:tt $members:tt;
            )*
        }
    )*) => {
        /// A message of a log line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Message {
            $($(#[$doc])* $message,)*
        }

        impl Message {
            /// Number of messages.
            pub(crate) const COUNT: usize = [$(Self::$message),*].len();

            /// The word for it in the column `event` of its table; empty where the table has no such column.
            #[cfg(feature = "ingest")]
            pub(crate) const fn event(self) -> &'static str {
                match self {
                    $(Self::$message => $event,)*
                }
            }
        }

        pub(crate) const NAMESPACES: &[(Message, &[&str])] = &[$((Message::$message, &$names)),*];
        pub(crate) const KINDS: &[(Message, &[&str])] = &[$((Message::$message, &$kinds)),*];

        /// Reads a message from the members of its data; None where it is of no interest after all.
        #[inline]
        pub(crate) fn read<'a>(message: Message, members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
            match message {
                $(Message::$message => read!($body members $columns),)*
            }
        }

        /// Messages as nodes of today write them; each is one way to write one message.
        pub mod forms {
            use super::*;

            $($(form! { $message $names $(#[$form_doc])* $form $severity $thread $members })*)*
        }
    };
}

/// Reads the columns of a row out of members, or leaves that to a function that is named.
macro_rules! read {
    ($body:ident $members:ident ($read:ident)) => {
        values::$read($members)
    };
    ($body:ident $members:ident { $($column:ident: $read:ident($key:literal $(| $old_key:literal)*)),* $(,)? }) => {{
        $(let mut $column = None;)*
        $members.each(|key, value| {
            $(if key == $key.as_bytes() $(|| key == $old_key.as_bytes())* {
                $column = Some(value);
                return Ok(true);
            })*
            let _ = (key, value);
            Ok(false)
        })?;
        #[allow(clippy::needless_update, reason = "some messages have all columns")]
        Ok(Some(Body::$body($body { $($column: values::$read($key, $column)?.into(),)* ..$body::default() })))
    }};
}

/// Makes the type of a form: what it is written from, its text, and its members for those who read it without text.
///
/// Text that stands between two values is put together when this is compiled.
macro_rules! form {
    ($message:ident $names:tt $(#[$doc:meta])* $form:ident $severity:ident (on $thread:literal) $members:tt) => {
        form! { @begin ($message $(#[$doc])* $form $severity [] on $thread) $names $members }
    };
    // There is a thread for each peer.
    ($message:ident $names:tt $(#[$doc:meta])* $form:ident $severity:ident (peer $first:literal) $members:tt) => {
        form! { @begin ($message $(#[$doc])* $form $severity [peer] peer $first) $names $members }
    };
    (@begin $head:tt [$name:literal $(, $old_name:literal)*] { $($members:tt)* }) => {
        form! { @members $head $name [] [] [$name "\",\"data\":{"] "" $($members)* }
    };
    (@members $head:tt $name:literal $fields:tt $written:tt [$($text:literal)*] $comma:literal $key:literal = true $(, $($rest:tt)*)?) => {
        form! { @members $head $name $fields $written [$($text)* $comma "\"" $key "\":true"] "," $($($rest)*)? }
    };
    (
        @members $head:tt $name:literal $fields:tt [$($written:tt)*] [$($text:literal)*] $comma:literal
        $key:literal = peer $(, $($rest:tt)*)?
    ) => {
        form! { @members $head $name $fields [$($written)* { $($text)* $comma "\"" $key "\":" } peer] [] "," $($($rest)*)? }
    };
    (
        @members $head:tt $name:literal $fields:tt $written:tt [$($text:literal)*] $comma:literal
        $key:literal = $constant:literal $(, $($rest:tt)*)?
    ) => {
        form! { @members $head $name $fields $written [$($text)* $comma "\"" $key "\":\"" $constant "\""] "," $($($rest)*)? }
    };
    (
        @members $head:tt $name:literal [$($fields:tt)*] [$($written:tt)*] [$($text:literal)*] $comma:literal
        $key:literal: $field:ident $(, $($rest:tt)*)?
    ) => {
        form! {
            @members $head $name [$($fields)* ($key $field)] [$($written)* { $($text)* $comma "\"" $key "\":" } $field] [] "," $($($rest)*)?
        }
    };
    (
        @members ($message:ident $(#[$doc:meta])* $form:ident $severity:ident [$($peer:ident)?] $by:ident $thread:literal) $name:literal
        [$(($key:literal $field:ident))*] [$($written:tt)*] [$($text:literal)*] $comma:literal
    ) => {
        $(#[$doc])*
        #[doc = concat!("`", $name, "`")]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, non_camel_case_types, reason = "fields are named as the members of the log line, and so are their types")]
        pub struct $form<$($field),*> {
            $(
                /// The peer that it is about.
                pub $peer: Peer,
            )?
            $(pub $field: $field,)*
        }

        #[allow(non_camel_case_types, reason = "as above")]
        impl<'a, $($field: Datum<'a>),*> Form<'a> for $form<$($field),*> {
            const MESSAGE: Message = Message::$message;
            const NAME: &'static str = $name;

            fn thread(&self) -> Thread {
                form!(@thread self $by $thread)
            }

            $(
                #[inline]
                fn $peer(&self) -> Option<Peer> {
                    Some(self.$peer)
                }
            )?

            #[inline]
            fn write(&self, out: &mut impl Out) {
                form!(@write self out $($written)*);
                form!(@end self out $severity [$($text)*] $by $thread);
            }

            #[inline]
            fn each(&self, mut each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason> {
                $(each($key.as_bytes(), self.$field.value())?;)*
                Ok(())
            }
        }
    };
    (@thread $self:ident on $thread:literal) => {
        Thread::Named($thread)
    };
    (@thread $self:ident peer $first:literal) => {
        Thread::Numbered($first + $self.peer.0)
    };
    (@write $self:ident $out:ident $({ $($text:literal)* } $field:ident)*) => {
        $(
            $out.put(concat!($($text),*).as_bytes());
            $self.$field.write($out);
        )*
    };
    (@end $self:ident $out:ident $severity:ident [$($text:literal)*] on $thread:literal) => {
        $out.put(concat!($($text,)* "},\"sev\":\"", stringify!($severity), "\",\"thread\":\"", $thread).as_bytes());
    };
    (@end $self:ident $out:ident $severity:ident [$($text:literal)*] peer $first:literal) => {
        $out.put(concat!($($text,)* "},\"sev\":\"", stringify!($severity), "\",\"thread\":\"").as_bytes());
        $out.whole(i64::from($first + $self.peer.0));
    };
}
